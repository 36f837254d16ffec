func.func @main(%key: tensor<4xui32>, %x: tensor<4xi32>, %y: tensor<4xf32>, %which: tensor<i32>) -> (tensor<4xui32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  %r = stablehlo.constant dense<13> : tensor<4xui32>
  %s = stablehlo.constant dense<19> : tensor<4xui32>
  %0 = stablehlo.shift_left %key, %r : tensor<4xui32>
  %1 = stablehlo.shift_right_logical %key, %s : tensor<4xui32>
  %2 = stablehlo.or %0, %1 : tensor<4xui32>
  %3 = stablehlo.xor %2, %key : tensor<4xui32>
  %4 = stablehlo.add %3, %key : tensor<4xui32>
  %five = stablehlo.constant dense<5> : tensor<4xi32>
  %two = stablehlo.constant dense<2> : tensor<4xi32>
  %5 = stablehlo.shift_right_arithmetic %x, %two : tensor<4xi32>
  %6 = stablehlo.remainder %x, %five : tensor<4xi32>
  %7 = stablehlo.divide %5, %two : tensor<4xi32>
  %8 = stablehlo.maximum %6, %7 : tensor<4xi32>
  %9 = stablehlo.negate %8 : tensor<4xi32>
  %10 = stablehlo.convert %y : (tensor<4xf32>) -> tensor<4xbf16>
  %11 = stablehlo.convert %10 : (tensor<4xbf16>) -> tensor<4xf32>
  %12 = stablehlo.reduce_precision %y, format = e5m4 : tensor<4xf32>
  %13 = stablehlo.floor %y : tensor<4xf32>
  %14 = "stablehlo.case"(%which) ({
    %a = stablehlo.add %11, %13 : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.subtract %12, %13 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    %c = stablehlo.cosine %y : tensor<4xf32>
    stablehlo.return %c : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %4, %9, %14, %11 : tensor<4xui32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}
