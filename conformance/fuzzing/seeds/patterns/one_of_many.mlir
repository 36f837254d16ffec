// Class numbers as rows of zeros and a one, and their products with scores.
func.func @main(%classes: tensor<5xi32>, %scores: tensor<5x7xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.broadcast_in_dim %classes, dims = [0] : (tensor<5xi32>) -> tensor<5x7xi32>
  %numbers = stablehlo.iota dim = 1 : tensor<5x7xi32>
  %hit = stablehlo.compare EQ, %wide, %numbers : (tensor<5x7xi32>, tensor<5x7xi32>) -> tensor<5x7xi1>
  %weights = stablehlo.convert %hit : (tensor<5x7xi1>) -> tensor<5x7xf32>
  %taken = stablehlo.multiply %weights, %scores : tensor<5x7xf32>
  %sum = stablehlo.reduce(%taken init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<5x7xf32>, tensor<f32>) -> tensor<f32>
  %loss = stablehlo.negate %sum : tensor<f32>
  return %loss : tensor<f32>
}
