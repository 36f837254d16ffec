// The place of the largest element of each row, by a reduction of values together with indices.
func.func @main(%x: tensor<4x11xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %places = stablehlo.iota dim = 1 : tensor<4x11xi32>
  %top:2 = stablehlo.reduce(%x init: %low), (%places init: %none) across dimensions = [1]
    : (tensor<4x11xf32>, tensor<4x11xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %more = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %value = stablehlo.select %more, %a, %b : tensor<i1>, tensor<f32>
      %place = stablehlo.select %more, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %value, %place : tensor<f32>, tensor<i32>
    }
  return %top#0, %top#1 : tensor<4xf32>, tensor<4xi32>
}
