"""Numbers of fields and of element types in XLA's protos.

Source: xla/service/hlo.proto, xla/xla_data.proto.
"""

# HloModuleProto, HloComputationProto
COMPUTATIONS, INSTRUCTIONS = 3, 2
# HloInstructionProto
OPCODE, SHAPE, LITERAL, PARAMETER, TUPLE_INDEX, DIMENSIONS, WINDOW = 2, 3, 8, 9, 13, 14, 15
CONVOLUTION, SLICES, MANTISSA, PADDING, DOT, GATHER, ID, OPERANDS = 16, 17, 19, 21, 30, 33, 35, 36
CALLED, CONFIG, SCATTER, PAIRS, TRIANGULAR, DIRECTION, ORDER = 38, 43, 48, 52, 59, 63, 72
# ShapeProto
ELEMENT_TYPE, SIZES, PARTS, LAYOUT = 2, 3, 4, 5
# PrimitiveType
S8, S32, S64 = 2, 4, 5
