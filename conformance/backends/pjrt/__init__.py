"""XLA through PJRT, driven by jaxlib: the only package that uses jax's private names.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""
