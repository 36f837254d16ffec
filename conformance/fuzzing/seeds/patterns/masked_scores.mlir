// Scores of queries and keys, what lies ahead masked away by two iotas.
func.func @main(%queries: tensor<2x8x4xf32>, %keys: tensor<2x8x4xf32>) -> tensor<2x8x8xf32> {
  %low = stablehlo.constant dense<-1.0e9> : tensor<2x8x8xf32>
  %scale = stablehlo.constant dense<0.5> : tensor<2x8x8xf32>
  %scores = stablehlo.dot_general %queries, %keys, batching_dims = [0] x [0],
    contracting_dims = [2] x [2] : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %scaled = stablehlo.multiply %scores, %scale : tensor<2x8x8xf32>
  %rows = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %columns = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %seen = stablehlo.compare GE, %rows, %columns : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %mask = stablehlo.broadcast_in_dim %seen, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %masked = stablehlo.select %mask, %scaled, %low : tensor<2x8x8xi1>, tensor<2x8x8xf32>
  return %masked : tensor<2x8x8xf32>
}
