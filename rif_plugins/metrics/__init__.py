"""Rates with intervals: over the records of a run, over rows, between runs; plain functions, no model."""

from rif_plugins.metrics.compare import Comparison, compare_runs
from rif_plugins.metrics.confusion import Confusion, confusion_rates, fair_f1_score
from rif_plugins.metrics.epsilon import TextEpsilon, epsilon_by_text
from rif_plugins.metrics.frame import RIFFrame
from rif_plugins.metrics.impact import perturbation_impact
from rif_plugins.metrics.rates import Estimate, Rate, summarise, wilson_interval
from rif_plugins.metrics.summary import summarise_run
from rif_plugins.metrics.text_table import RIFTextTable, rif_text_table

__all__ = [
    "Comparison",
    "Confusion",
    "Estimate",
    "RIFFrame",
    "RIFTextTable",
    "Rate",
    "TextEpsilon",
    "compare_runs",
    "confusion_rates",
    "epsilon_by_text",
    "fair_f1_score",
    "perturbation_impact",
    "rif_text_table",
    "summarise",
    "summarise_run",
    "wilson_interval",
]
