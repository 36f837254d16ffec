// Numbers as steps of eight bits, and back.
func.func @main(%x: tensor<4x9xf32>) -> (tensor<4x9xi8>, tensor<4x9xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %most = stablehlo.constant dense<127.0> : tensor<4xf32>
  %least = stablehlo.constant dense<-128.0> : tensor<f32>
  %greatest = stablehlo.constant dense<127.0> : tensor<f32>
  %sizes = stablehlo.abs %x : tensor<4x9xf32>
  %top = stablehlo.reduce(%sizes init: %zero) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x9xf32>, tensor<f32>) -> tensor<4xf32>
  %step = stablehlo.divide %top, %most : tensor<4xf32>
  %steps = stablehlo.broadcast_in_dim %step, dims = [0] : (tensor<4xf32>) -> tensor<4x9xf32>
  %parts = stablehlo.divide %x, %steps : tensor<4x9xf32>
  %whole = stablehlo.round_nearest_even %parts : tensor<4x9xf32>
  %held = stablehlo.clamp %least, %whole, %greatest : (tensor<f32>, tensor<4x9xf32>, tensor<f32>) -> tensor<4x9xf32>
  %codes = stablehlo.convert %held : (tensor<4x9xf32>) -> tensor<4x9xi8>
  %numbers = stablehlo.convert %codes : (tensor<4x9xi8>) -> tensor<4x9xf32>
  %again = stablehlo.multiply %numbers, %steps : tensor<4x9xf32>
  return %codes, %again : tensor<4x9xi8>, tensor<4x9xf32>
}
