// The few largest of a row with their places: sorted together, then cut.
func.func @main(%x: tensor<13xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %places = stablehlo.iota dim = 0 : tensor<13xi32>
  %down:2 = "stablehlo.sort"(%x, %places) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %more = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<13xf32>, tensor<13xi32>) -> (tensor<13xf32>, tensor<13xi32>)
  %values = stablehlo.slice %down#0 [0:3] : (tensor<13xf32>) -> tensor<3xf32>
  %indices = stablehlo.slice %down#1 [0:3] : (tensor<13xi32>) -> tensor<3xi32>
  return %values, %indices : tensor<3xf32>, tensor<3xi32>
}
