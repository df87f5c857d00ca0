"""Rates with intervals over the records of a run: plain functions, no host, no model."""

from rif_plugins.metrics.rates import Rate, summarise, wilson_interval

__all__ = ["Rate", "summarise", "wilson_interval"]
