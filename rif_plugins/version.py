"""The version, where a build reads it without importing anything and every layer may."""

from __future__ import annotations

__version__ = "0.1.0.dev0"
