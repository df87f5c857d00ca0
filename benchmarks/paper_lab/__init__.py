"""What the studies of ``benchmarks/paper`` share: command line, tables, figures, provenance."""
