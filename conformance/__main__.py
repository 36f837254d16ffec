"""Entry point of `python -m conformance`, which is the same as `hlo-conformance`."""

from hlo_conformance import main

if __name__ == "__main__":
    main()
