func.func @main(%b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %a = stablehlo.constant dense<[[1.0, 0.0, 0.0], [2.0, 2.0, 0.0], [-4.0, 1.0, 4.0]]> : tensor<3x3xf32>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
