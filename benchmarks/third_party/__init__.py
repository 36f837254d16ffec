"""Programs of other people's libraries: how each is exported, and what checking them all gives.

python -m benchmarks.third_party export DIR     where the libraries are installed
python -m benchmarks.third_party check DIR      where hlo-conformance is
"""
