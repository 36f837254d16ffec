// Halves of rows turned against each other by angles.
func.func @main(%x: tensor<4x8xf32>, %angles: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %front = stablehlo.slice %x [0:4, 0:4] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %back = stablehlo.slice %x [0:4, 4:8] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %cosines = stablehlo.cosine %angles : tensor<4x4xf32>
  %sines = stablehlo.sine %angles : tensor<4x4xf32>
  %a = stablehlo.multiply %front, %cosines : tensor<4x4xf32>
  %b = stablehlo.multiply %back, %sines : tensor<4x4xf32>
  %minus = stablehlo.negate %b : tensor<4x4xf32>
  %left = stablehlo.add %a, %minus : tensor<4x4xf32>
  %c = stablehlo.multiply %back, %cosines : tensor<4x4xf32>
  %d = stablehlo.multiply %front, %sines : tensor<4x4xf32>
  %right = stablehlo.add %c, %d : tensor<4x4xf32>
  %turned = stablehlo.concatenate %left, %right, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %turned : tensor<4x8xf32>
}
