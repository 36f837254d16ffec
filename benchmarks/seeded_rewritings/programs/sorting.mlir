func.func @main(%x: tensor<3x4xf32>, %y: tensor<4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>, tensor<4xi32>) {
  %ids = stablehlo.iota dim = 1 : tensor<3x4xi32>
  %0:2 = "stablehlo.sort"(%x, %ids) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %c = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %0#0, %0#1, %1 : tensor<3x4xf32>, tensor<3x4xi32>, tensor<4xi32>
}
