// Rows of a table by indices that are brought into range first.
func.func @main(%table: tensor<10x4xf32>, %tokens: tensor<6xi32>) -> tensor<6x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<6xi32>
  %count = stablehlo.constant dense<10> : tensor<6xi32>
  %last = stablehlo.constant dense<9> : tensor<i32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %negative = stablehlo.compare LT, %tokens, %zero : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
  %around = stablehlo.add %tokens, %count : tensor<6xi32>
  %chosen = stablehlo.select %negative, %around, %tokens : tensor<6xi1>, tensor<6xi32>
  %inside = stablehlo.clamp %first, %chosen, %last : (tensor<i32>, tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
  %indices = stablehlo.reshape %inside : (tensor<6xi32>) -> tensor<6x1xi32>
  %rows = "stablehlo.gather"(%table, %indices) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>, indices_are_sorted = false
  } : (tensor<10x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  return %rows : tensor<6x4xf32>
}
