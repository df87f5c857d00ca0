"""Runs an audit: many examples, all pairs and targets in one sweep, batched across examples."""

from __future__ import annotations

from rif_plugins.runner.api import audit
from rif_plugins.runner.audit import Audit
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.sweep import Sweep

__all__ = ["Audit", "AuditOptions", "Sweep", "audit"]
