// An image filtered, moved by an offset, cut at zero and reduced by windows.
func.func @main(%image: tensor<1x8x8x2xf32>, %kernel: tensor<3x3x2x4xf32>, %offset: tensor<4xf32>)
    -> tensor<1x4x4x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1x8x8x4xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %sums = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x8x8x4xf32>
  %offsets = stablehlo.broadcast_in_dim %offset, dims = [3] : (tensor<4xf32>) -> tensor<1x8x8x4xf32>
  %moved = stablehlo.add %sums, %offsets : tensor<1x8x8x4xf32>
  %cut = stablehlo.maximum %moved, %zero : tensor<1x8x8x4xf32>
  %pooled = "stablehlo.reduce_window"(%cut, %low) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}
    : (tensor<1x8x8x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  return %pooled : tensor<1x4x4x4xf32>
}
