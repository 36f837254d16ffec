func.func @main(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %length: tensor<i32>) -> tensor<4x8xf32> {
  %scale = stablehlo.constant dense<0.353553> : tensor<4x4xf32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.multiply %0, %scale : tensor<4x4xf32>
  %row = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %column = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %causal = stablehlo.compare GE, %row, %column : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %2 = stablehlo.broadcast_in_dim %length, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
  %inside = stablehlo.compare LT, %column, %2 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %mask = stablehlo.and %causal, %inside : tensor<4x4xi1>
  %low = stablehlo.constant dense<-1.0e9> : tensor<4x4xf32>
  %3 = stablehlo.select %mask, %1, %low : tensor<4x4xi1>, tensor<4x4xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
  %6 = stablehlo.subtract %3, %5 : tensor<4x4xf32>
  %7 = stablehlo.exponential %6 : tensor<4x4xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
  %10 = stablehlo.divide %7, %9 : tensor<4x4xf32>
  %11 = stablehlo.dot_general %10, %v, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %11 : tensor<4x8xf32>
}
