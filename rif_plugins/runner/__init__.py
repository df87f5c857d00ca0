"""Runs an audit: many examples, all pairs and targets in one sweep, batched across examples."""

from __future__ import annotations

from rif_plugins.runner.sweep import Sweep

__all__ = ["Sweep"]
