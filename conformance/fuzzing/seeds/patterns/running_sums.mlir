// Running sums, once by windows, once by a product with a triangle of ones.
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = "stablehlo.reduce_window"(%x, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 16>, padding = dense<[[15, 0]]> : tensor<1x2xi64>}
    : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  %rows = stablehlo.iota dim = 0 : tensor<16x16xi32>
  %columns = stablehlo.iota dim = 1 : tensor<16x16xi32>
  %below = stablehlo.compare GE, %rows, %columns : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
  %ones = stablehlo.convert %below : (tensor<16x16xi1>) -> tensor<16x16xf32>
  %same = stablehlo.dot_general %ones, %x, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %off = stablehlo.subtract %sums, %same : tensor<16xf32>
  return %off : tensor<16xf32>
}
