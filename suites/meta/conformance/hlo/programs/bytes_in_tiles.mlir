func.func @main(%x: tensor<5x12xi8>, %p: tensor<5x12xi1>) -> (tensor<12x5xi8>, tensor<15xi32>) {
  %z = stablehlo.constant dense<0> : tensor<5x12xi8>
  %0 = stablehlo.select %p, %x, %z : tensor<5x12xi1>, tensor<5x12xi8>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<5x12xi8>) -> tensor<12x5xi8>
  %2 = stablehlo.reshape %x : (tensor<5x12xi8>) -> tensor<15x4xi8>
  %3 = stablehlo.bitcast_convert %2 : (tensor<15x4xi8>) -> tensor<15xi32>
  return %1, %3 : tensor<12x5xi8>, tensor<15xi32>
}
