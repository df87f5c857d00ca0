"""After a run: language models rate on a sample how well the found edits keep the meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.errors import RIFError
from rif_plugins.runner.language_models import LanguageModels
from rif_plugins.runner.options import AuditOptions, proposing_models


def load_judges(options: AuditOptions, models: LanguageModels) -> None:
    """Load judges, and language models that propose, before the hours of a run and before it has a folder.

    Raises:
        UsageError: One cannot be loaded.
    """
    settings = options.settings
    for spec in (*proposing_models(settings.proposer), *(settings.judge or ())):
        models(spec)


def run_judges(options: AuditOptions, models: LanguageModels, records: Iterable[Record]) -> dict[str, Any]:
    """Let each judge rate the same sample; the judges see two texts each, and not how they came about.

    Args:
        options: Name the judges and the size of the sample.
        models: The language models of the run; its limit of calls holds for the judges too.
        records: Those of the run, read once.

    Returns:
        The block ``judge`` of ``summary.json``, see ``judge_summary``. A run is not lost because
        of its judges: where they fail it has the key ``error``.
    """
    from rif_plugins.diagnostics.judge import MeaningJudge, judge_sample, judge_summary

    settings = options.settings
    try:
        edits = judge_sample(records, settings.judge_sample, settings.seed)
        pairs = [(edit.original, edit.edited) for edit in edits]
        judges = [MeaningJudge(models(spec), seed=settings.seed) for spec in settings.judge or ()]
        names = [judge.name for judge in judges]
        if len(set(names)) < len(names):  # files of the same name in two folders
            names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
        rated = [judge.rate(pairs) for judge in judges]
        summary = judge_summary(edits, dict(zip(names, rated, strict=True)))
    except RIFError as error:
        return {"sample": 0, "judges": [], "error": str(error)}
    finally:
        models.close()
    return summary
