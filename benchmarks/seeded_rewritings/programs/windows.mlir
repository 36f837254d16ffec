func.func @main(%x: tensor<1x6x6x2xbf16>, %k: tensor<3x3x2x4xbf16>, %y: tensor<8x8x2x2xf32>, %i: tensor<2xi32>) -> (tensor<1x3x3x4xf32>, tensor<4x4x2x2xf32>, tensor<8x8x2x2xf32>, tensor<2x8x2x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x2xbf16>, tensor<3x3x2x4xbf16>) -> tensor<1x3x3x4xf32>
  %1 = "stablehlo.reduce_window"(%y, %low) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 3, 2, 1, 1>, window_strides = array<i64: 2, 2, 1, 1>, padding = dense<[[0, 1], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>} : (tensor<8x8x2x2xf32>, tensor<f32>) -> tensor<4x4x2x2xf32>
  %2 = "stablehlo.select_and_scatter"(%y, %1, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %g = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 3, 2, 1, 1>, window_strides = array<i64: 2, 2, 1, 1>, padding = dense<[[0, 1], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>} : (tensor<8x8x2x2xf32>, tensor<4x4x2x2xf32>, tensor<f32>) -> tensor<8x8x2x2xf32>
  %3 = "stablehlo.gather"(%2, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8, 2, 2>}> : (tensor<8x8x2x2xf32>, tensor<2xi32>) -> tensor<2x8x2x2xf32>
  return %0, %1, %2, %3 : tensor<1x3x3x4xf32>, tensor<4x4x2x2xf32>, tensor<8x8x2x2xf32>, tensor<2x8x2x2xf32>
}
