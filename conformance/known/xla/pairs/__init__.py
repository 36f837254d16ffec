"""Numbers of f64 as pairs of f32, which the compiler for TPUs computes with."""
