"""Programs of third-party libraries: their export, and the results of checking them.

python -m benchmarks.third_party export DIR     where the libraries are installed
python -m benchmarks.third_party check DIR      where hlo-conformance is
"""
