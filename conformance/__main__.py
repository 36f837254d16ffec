"""Entry point of `python -m conformance`, which is the same as `hlo-conformance`."""

from conformance.cli import main

if __name__ == "__main__":
    main()
