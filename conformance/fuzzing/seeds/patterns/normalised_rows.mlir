// Rows brought to mean 0 and variance 1, then scaled and moved.
func.func @main(%x: tensor<4x32xbf16>, %scale: tensor<32xbf16>, %offset: tensor<32xbf16>)
    -> tensor<4x32xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<32.0> : tensor<4xf32>
  %small = stablehlo.constant dense<1.0e-5> : tensor<4xf32>
  %wide = stablehlo.convert %x : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x32xf32>, tensor<f32>) -> tensor<4xf32>
  %mean = stablehlo.divide %sum, %count : tensor<4xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<4xf32>) -> tensor<4x32xf32>
  %moved = stablehlo.subtract %wide, %means : tensor<4x32xf32>
  %squares = stablehlo.multiply %moved, %moved : tensor<4x32xf32>
  %power = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x32xf32>, tensor<f32>) -> tensor<4xf32>
  %variance = stablehlo.divide %power, %count : tensor<4xf32>
  %safe = stablehlo.add %variance, %small : tensor<4xf32>
  %root = stablehlo.rsqrt %safe : tensor<4xf32>
  %roots = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<4xf32>) -> tensor<4x32xf32>
  %even = stablehlo.multiply %moved, %roots : tensor<4x32xf32>
  %narrow = stablehlo.convert %even : (tensor<4x32xf32>) -> tensor<4x32xbf16>
  %scales = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<32xbf16>) -> tensor<4x32xbf16>
  %offsets = stablehlo.broadcast_in_dim %offset, dims = [1] : (tensor<32xbf16>) -> tensor<4x32xbf16>
  %scaled = stablehlo.multiply %narrow, %scales : tensor<4x32xbf16>
  %result = stablehlo.add %scaled, %offsets : tensor<4x32xbf16>
  return %result : tensor<4x32xbf16>
}
