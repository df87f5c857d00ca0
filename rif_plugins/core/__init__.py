"""The theory of robust individual fairness, without a host: standard library and numpy only."""
