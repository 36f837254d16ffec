func.func @main(%x: tensor<2x9x9x4xf32>, %k: tensor<3x3x4x6xf32>, %g: tensor<2x5x5x6xf32>) -> (tensor<2x5x5x6xf32>, tensor<2x9x9x4xf32>, tensor<3x3x4x6xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x9x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x5x5x6xf32>
  %r = stablehlo.reverse %k, dims = [0, 1] : tensor<3x3x4x6xf32>
  %1 = stablehlo.convolution(%g, %r) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x5x6xf32>, tensor<3x3x4x6xf32>) -> tensor<2x9x9x4xf32>
  %2 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x9x4xf32>, tensor<2x5x5x6xf32>) -> tensor<3x3x4x6xf32>
  return %0, %1, %2 : tensor<2x5x5x6xf32>, tensor<2x9x9x4xf32>, tensor<3x3x4x6xf32>
}
