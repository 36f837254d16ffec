// Features parted into heads, turned, and put together again behind padding that is cut off.
func.func @main(%x: tensor<6x8xf16>) -> tensor<6x8xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %padded = stablehlo.pad %x, %zero, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<6x8xf16>, tensor<f16>) -> tensor<8x8xf16>
  %heads = stablehlo.reshape %padded : (tensor<8x8xf16>) -> tensor<8x2x4xf16>
  %turned = stablehlo.transpose %heads, dims = [1, 0, 2] : (tensor<8x2x4xf16>) -> tensor<2x8x4xf16>
  %doubled = stablehlo.add %turned, %turned : tensor<2x8x4xf16>
  %back = stablehlo.transpose %doubled, dims = [1, 0, 2] : (tensor<2x8x4xf16>) -> tensor<8x2x4xf16>
  %flat = stablehlo.reshape %back : (tensor<8x2x4xf16>) -> tensor<8x8xf16>
  %cut = stablehlo.slice %flat [0:6, 0:8] : (tensor<8x8xf16>) -> tensor<6x8xf16>
  return %cut : tensor<6x8xf16>
}
