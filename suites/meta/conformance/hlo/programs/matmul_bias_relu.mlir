func.func @main(%a: tensor<64x48xf32>, %b: tensor<48x32xf32>, %v: tensor<32xf32>) -> tensor<64x32xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<64x32xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x48xf32>, tensor<48x32xf32>) -> tensor<64x32xf32>
  %1 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x32xf32>
  %3 = stablehlo.maximum %2, %z : tensor<64x32xf32>
  return %3 : tensor<64x32xf32>
}
