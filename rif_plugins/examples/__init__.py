"""Sentences to audit the embedded victim with, written for this project (CC0)."""

from __future__ import annotations

from rif_plugins.examples.sentences import Example, load_examples

__all__ = ["Example", "load_examples"]
