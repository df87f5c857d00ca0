"""Rates with intervals over the records of a run: plain functions, no host, no model."""

from rif_plugins.metrics.epsilon import TextEpsilon, epsilon_by_text
from rif_plugins.metrics.rates import Estimate, Rate, summarise, wilson_interval
from rif_plugins.metrics.summary import summarise_run

__all__ = [
    "Estimate",
    "Rate",
    "TextEpsilon",
    "epsilon_by_text",
    "summarise",
    "summarise_run",
    "wilson_interval",
]
