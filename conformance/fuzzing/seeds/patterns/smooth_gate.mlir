// A gate by a hyperbolic tangent of a cubic, beside one by a logistic function.
func.func @main(%x: tensor<16xf32>, %gate: tensor<16xf32>) -> tensor<16xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<16xf32>
  %one = stablehlo.constant dense<1.0> : tensor<16xf32>
  %third = stablehlo.constant dense<0.044715> : tensor<16xf32>
  %root = stablehlo.constant dense<0.79788456> : tensor<16xf32>
  %square = stablehlo.multiply %x, %x : tensor<16xf32>
  %cube = stablehlo.multiply %square, %x : tensor<16xf32>
  %part = stablehlo.multiply %cube, %third : tensor<16xf32>
  %sum = stablehlo.add %x, %part : tensor<16xf32>
  %inner = stablehlo.multiply %sum, %root : tensor<16xf32>
  %bent = stablehlo.tanh %inner : tensor<16xf32>
  %open = stablehlo.add %bent, %one : tensor<16xf32>
  %share = stablehlo.multiply %open, %half : tensor<16xf32>
  %through = stablehlo.multiply %x, %share : tensor<16xf32>
  %soft = stablehlo.logistic %gate : tensor<16xf32>
  %result = stablehlo.multiply %through, %soft : tensor<16xf32>
  return %result : tensor<16xf32>
}
