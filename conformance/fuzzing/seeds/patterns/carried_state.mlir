// A state that a loop carries, a row of inputs taken at each turn.
func.func @main(%inputs: tensor<5x4xf32>, %start: tensor<4xf32>) -> tensor<4xf32> {
  %none = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<5> : tensor<i32>
  %last:2 = stablehlo.while(%i = %none, %state = %start) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %inputs, %i, %zero, sizes = [1, 4] : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %input = stablehlo.reshape %row : (tensor<1x4xf32>) -> tensor<4xf32>
      %sum = stablehlo.add %state, %input : tensor<4xf32>
      %bent = stablehlo.tanh %sum : tensor<4xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %bent : tensor<i32>, tensor<4xf32>
    }
  %result = stablehlo.negate %last#1 : tensor<4xf32>
  return %result : tensor<4xf32>
}
