"""The parts of benchmarks/tabular.py: data, models, the tables of the two papers, the page."""
