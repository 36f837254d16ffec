// A row-wise softmax, its maximum taken away first.
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %top = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %tops = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %moved = stablehlo.subtract %x, %tops : tensor<8x16xf32>
  %powers = stablehlo.exponential %moved : tensor<8x16xf32>
  %sum = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %shares = stablehlo.divide %powers, %sums : tensor<8x16xf32>
  return %shares : tensor<8x16xf32>
}
