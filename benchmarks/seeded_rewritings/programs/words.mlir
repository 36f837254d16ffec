func.func @main(%x: tensor<4xi64>, %y: tensor<4xi64>, %a: tensor<4xf64>, %b: tensor<4xf64>, %z: tensor<4xcomplex<f32>>) -> (tensor<4xi64>, tensor<4xi1>, tensor<4xf64>, tensor<4xcomplex<f32>>) {
  %three = stablehlo.constant dense<3> : tensor<4xi64>
  %0 = stablehlo.shift_left %x, %three : tensor<4xi64>
  %1 = stablehlo.multiply %0, %y : tensor<4xi64>
  %2 = stablehlo.subtract %1, %x : tensor<4xi64>
  %3 = stablehlo.compare LT, %2, %y : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %4 = stablehlo.select %3, %b, %a : tensor<4xi1>, tensor<4xf64>
  %5 = stablehlo.multiply %z, %z : tensor<4xcomplex<f32>>
  %6 = stablehlo.reverse %5, dims = [0] : tensor<4xcomplex<f32>>
  %7 = stablehlo.add %6, %z : tensor<4xcomplex<f32>>
  return %2, %3, %4, %7 : tensor<4xi64>, tensor<4xi1>, tensor<4xf64>, tensor<4xcomplex<f32>>
}
