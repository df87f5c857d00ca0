"""Every fuzz target."""

from __future__ import annotations

from fuzz import answer_targets, audit_targets, file_targets, llm_targets, result_targets, text_targets

TARGETS = (
    *text_targets.TARGETS,
    *file_targets.TARGETS,
    *result_targets.TARGETS,
    *audit_targets.TARGETS,
    *answer_targets.TARGETS,
    *llm_targets.TARGETS,
)
