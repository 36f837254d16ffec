"""The pages of the documentation, as `zensical build` reads them, and the programs behind them."""
