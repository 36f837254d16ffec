func.func @main(%x: tensor<4x4xi32>, %y: tensor<2x4xi32>, %kernel: tensor<3x3x1x1xf32>) -> (tensor<6x4xi32>, tensor<1x4x4x1xf32>, tensor<2x2xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4x4xi32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xi32>) -> tensor<4x4xi32>
  %2 = stablehlo.slice %1 [1:3, 0:4] : (tensor<4x4xi32>) -> tensor<2x4xi32>
  %3 = stablehlo.pad %2, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<2x4xi32>, tensor<i32>) -> tensor<4x4xi32>
  %4 = stablehlo.concatenate %3, %y, dim = 0 : (tensor<4x4xi32>, tensor<2x4xi32>) -> tensor<6x4xi32>
  %lo = stablehlo.constant dense<-4> : tensor<6x4xi32>
  %hi = stablehlo.constant dense<3> : tensor<6x4xi32>
  %5 = stablehlo.clamp %lo, %4, %hi : tensor<6x4xi32>
  %6 = stablehlo.convert %x : (tensor<4x4xi32>) -> tensor<4x4xf32>
  %7 = stablehlo.reshape %6 : (tensor<4x4xf32>) -> tensor<1x4x4x1xf32>
  %8 = stablehlo.convolution(%7, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x4x4x1xf32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %9 = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<4x4xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %5, %8, %9 : tensor<6x4xi32>, tensor<1x4x4x1xf32>, tensor<2x2xi32>
}
