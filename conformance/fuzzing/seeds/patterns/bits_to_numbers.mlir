// Random bits as numbers from 0 to 1: the fraction kept, an exponent set, one taken away.
func.func @main(%bits: tensor<12xui32>, %span: tensor<f32>) -> tensor<12xf32> {
  %nine = stablehlo.constant dense<9> : tensor<12xui32>
  %unit = stablehlo.constant dense<1065353216> : tensor<12xui32>
  %one = stablehlo.constant dense<1.0> : tensor<12xf32>
  %fraction = stablehlo.shift_right_logical %bits, %nine : tensor<12xui32>
  %pattern = stablehlo.or %fraction, %unit : tensor<12xui32>
  %number = stablehlo.bitcast_convert %pattern : (tensor<12xui32>) -> tensor<12xf32>
  %part = stablehlo.subtract %number, %one : tensor<12xf32>
  %spans = stablehlo.broadcast_in_dim %span, dims = [] : (tensor<f32>) -> tensor<12xf32>
  %scaled = stablehlo.multiply %part, %spans : tensor<12xf32>
  return %scaled : tensor<12xf32>
}
