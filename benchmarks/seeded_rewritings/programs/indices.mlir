func.func @main(%table: tensor<200x3xf32>, %ids: tensor<4xi32>, %rows: tensor<4x3xf32>, %at: tensor<i32>) -> (tensor<4x3xf32>, tensor<200x3xf32>, tensor<2x2xf32>, tensor<200x3xf32>) {
  %scale = stablehlo.constant dense<37> : tensor<4xi32>
  %base = stablehlo.constant dense<9> : tensor<4xi32>
  %0 = stablehlo.multiply %ids, %scale : tensor<4xi32>
  %1 = stablehlo.abs %0 : tensor<4xi32>
  %2 = stablehlo.add %1, %base : tensor<4xi32>
  %index = stablehlo.reshape %2 : (tensor<4xi32>) -> tensor<4x1xi32>
  %3 = "stablehlo.gather"(%table, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<200x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  %4 = "stablehlo.scatter"(%table, %index, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<200x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<200x3xf32>
  %fifty = stablehlo.constant dense<40> : tensor<i32>
  %5 = stablehlo.multiply %at, %fifty : tensor<i32>
  %6 = stablehlo.abs %5 : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %7 = stablehlo.dynamic_slice %table, %6, %one, sizes = [2, 2] : (tensor<200x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %8 = stablehlo.dynamic_update_slice %table, %7, %6, %one : (tensor<200x3xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<200x3xf32>
  %9 = stablehlo.add %8, %4 : tensor<200x3xf32>
  return %3, %4, %7, %9 : tensor<4x3xf32>, tensor<200x3xf32>, tensor<2x2xf32>, tensor<200x3xf32>
}
