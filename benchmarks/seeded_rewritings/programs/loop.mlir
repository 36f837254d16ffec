func.func @main(%x: tensor<8xf32>, %count: tensor<i32>) -> (tensor<8xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<8xf32>
  %limit = stablehlo.abs %count : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %acc = %init, %v = %x) : tensor<i32>, tensor<8xf32>, tensor<8xf32> cond {
    %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %a = stablehlo.add %acc, %v : tensor<8xf32>
    %h = stablehlo.slice %v [1:8] : (tensor<8xf32>) -> tensor<7xf32>
    %t = stablehlo.slice %v [0:1] : (tensor<8xf32>) -> tensor<1xf32>
    %n = stablehlo.concatenate %h, %t, dim = 0 : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %a, %n : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  return %0#1, %0#0 : tensor<8xf32>, tensor<i32>
}
