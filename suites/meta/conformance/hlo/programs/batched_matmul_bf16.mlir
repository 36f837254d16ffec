func.func @main(%a: tensor<3x16x24xbf16>, %b: tensor<3x8x24xbf16>) -> tensor<3x8x16xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x16x24xbf16>, tensor<3x8x24xbf16>) -> tensor<3x16x8xf32>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<3x16x8xf32>) -> tensor<3x8x16xf32>
  return %1 : tensor<3x8x16xf32>
}
