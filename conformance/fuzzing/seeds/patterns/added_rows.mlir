// Rows added into a table at places, as the gradient of a look-up is.
func.func @main(%rows: tensor<6x4xf32>, %places: tensor<6xi32>) -> tensor<10x4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<10x4xf32>
  %rate = stablehlo.constant dense<0.125> : tensor<10x4xf32>
  %indices = stablehlo.reshape %places : (tensor<6xi32>) -> tensor<6x1xi32>
  %summed = "stablehlo.scatter"(%zeros, %indices, %rows) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<10x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<10x4xf32>
  %step = stablehlo.multiply %summed, %rate : tensor<10x4xf32>
  %down = stablehlo.negate %step : tensor<10x4xf32>
  return %down : tensor<10x4xf32>
}
