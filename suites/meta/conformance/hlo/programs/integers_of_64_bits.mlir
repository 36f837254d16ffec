func.func @main(%x: tensor<5x7xi64>, %y: tensor<5x7xi64>, %u: tensor<9xui64>) -> (tensor<5x7xi64>, tensor<5x7xi1>, tensor<9xui64>) {
  %c = stablehlo.constant dense<-3000000000> : tensor<5x7xi64>
  %s = stablehlo.constant dense<37> : tensor<9xui64>
  %0 = stablehlo.multiply %x, %c : tensor<5x7xi64>
  %1 = stablehlo.subtract %0, %y : tensor<5x7xi64>
  %2 = stablehlo.compare LT, %1, %y : (tensor<5x7xi64>, tensor<5x7xi64>) -> tensor<5x7xi1>
  %3 = stablehlo.shift_left %u, %s : tensor<9xui64>
  return %1, %2, %3 : tensor<5x7xi64>, tensor<5x7xi1>, tensor<9xui64>
}
