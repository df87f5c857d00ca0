"""Classifiers to audit: plain callables from a list of texts to class probabilities."""

from __future__ import annotations

from rif_plugins.victims.embedded import EmbeddedVictim
from rif_plugins.victims.tfidf import TfidfLinearModel

__all__ = ["EmbeddedVictim", "TfidfLinearModel"]
