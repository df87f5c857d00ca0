"""What ``run.json`` and ``summary.json`` may hold, checked before a report computes with them.

Unknown fields of a later version may hold anything; those that are read must have their type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rif_plugins.core.record_fields import (
    Check,
    is_number,
    is_text,
    is_whole,
    list_of,
    map_of,
    object_of,
    or_none,
    shown,
)
from rif_plugins.errors import DataError

_TEXT = (or_none(is_text), "a text")
_TEXTS = (or_none(list_of(is_text)), "a list of texts")
_AMOUNTS = or_none(map_of(or_none(lambda value: is_number(value) and value >= 0)))
_WHOLE = or_none(is_whole)
_CHECK = object_of({}, dict.fromkeys(("name", "status", "message"), is_text))
_SETTINGS = object_of(
    {}, {"seed": _WHOLE, "batch_size": or_none(lambda value: is_whole(value) or is_text(value))}
)
_OPTIONS = object_of(
    {},
    {
        **dict.fromkeys(("model", "device"), or_none(is_text)),
        "label_names": or_none(list_of(is_text)),
        "max_length": _WHOLE,
    },
)
_MEAN = {"rated": is_whole, "mean": or_none(is_number)}
_JUDGE = object_of(
    {"sample": is_whole},
    {
        "error": is_text,
        "targets": map_of(is_whole),
        "judges": list_of(
            object_of(
                {"judge": is_text, **_MEAN},
                {
                    "unrated": is_whole,
                    "interval": or_none(list_of(is_number)),
                    **dict.fromkeys(("reasons", "distribution"), map_of(is_whole)),
                    "by_target": map_of(object_of(_MEAN, {})),
                },
            )
        ),
        "agreement": object_of(
            {"judges": list_of(is_text), "n": is_whole},
            dict.fromkeys(("kappa", "within_one", "same"), or_none(is_number)),
        ),
        "lowest": list_of(
            object_of(
                dict.fromkeys(("original", "edited", "target"), is_text),
                {"record": is_text, "scores": list_of(or_none(is_number))},
            )
        ),
    },
)
_COUNTERS = ("calls", "stored", "failed", "prompt_tokens", "completion_tokens", "cost")
_LANGUAGE_MODELS = object_of(
    {},
    {
        **dict.fromkeys(_COUNTERS, is_number),
        "names": list_of(is_text),
        "max_calls": _WHOLE,
        "victim": object_of({}, {"name": is_text, "method": is_text, "samples": is_whole}),
    },
)
_CONFIGURATION: dict[str, tuple[Check, str]] = {
    **dict.fromkeys(("version", "model", "data", "data_sha256", "victim_fingerprint"), _TEXT),
    **dict.fromkeys(("victim_answers", "cache", "labels", "filter_order", "scorer"), _TEXT),
    **dict.fromkeys(("proposer_version", "lexicon_version", "origin", "started", "finished"), _TEXT),
    **dict.fromkeys(("label_names", "targets"), _TEXTS),
    **dict.fromkeys(("n_examples", "n_resumed"), (_WHOLE, "a whole number")),
    **dict.fromkeys(("time", "cost"), (_AMOUNTS, "numbers from 0 by name")),
    "language_models": (or_none(_LANGUAGE_MODELS), "counters of language models"),
    "seconds": (or_none(is_number), "a number"),
    "versions": (or_none(map_of(is_text)), "versions by name"),
    "victim_checks": (or_none(list_of(_CHECK)), "a list of checks with name, status and message"),
    "settings": (or_none(_SETTINGS), "settings by name"),
    "options": (or_none(_OPTIONS), "options by name"),
}
_PARTS = ("by_target", "by_attribute", "by_value", "by_label", "controls")
_FIGURES = ("clean", "attack", "texts", "steps", "flips", "epsilon", "outcomes", "clean_outcomes", "n_attack")
_NOT_FIGURES = ("schema", "labels", "name", "attribute", "value_from", "value_to")


def check_configuration(data: Mapping[str, Any], where: object) -> None:
    """Refuse a configuration with a field of the wrong type.

    Args:
        data: What ``run.json`` holds.
        where: The file, for the message.

    Raises:
        DataError: It names the field and what was expected.
    """
    for name, (is_fine, expected) in _CONFIGURATION.items():
        if name in data and not is_fine(data[name]):
            raise DataError(f"{where}: {name} is {shown(data[name])}, expected {expected}")


def check_summary(data: Mapping[str, Any], where: object) -> None:
    """Refuse a summary whose figures are no figures.

    Args:
        data: What ``summary.json`` holds.
        where: The file, for the message.

    Raises:
        DataError: It names the field and what was expected.
    """
    for name, value in data.items():
        problem = _problem(name, value)
        if problem:
            raise DataError(
                f"{where}: {name} is {shown(value)}, expected {problem}: `rif report` writes it anew"
            )


def _problem(name: str, value: Any) -> str:
    """What was expected in the place of a value, empty where it is fine."""
    if name in _NOT_FIGURES:
        return "" if value is None or is_text(value) else "a text"
    if name in ("label_names", "targets", "rif_targets"):
        return "" if list_of(is_text)(value) else "a list of texts"
    if name in _PARTS:
        return (
            "" if map_of(_is_part)(value) or (name == "controls" and _is_part(value)) else "figures by name"
        )
    if name == "skip_reasons" or name == "time":
        return "" if map_of(or_none(is_number))(value) else "numbers by name"
    if name == "certificates":
        return "" if map_of(map_of(is_whole))(value) else "whole numbers by target"
    if name in _FIGURES:
        return "" if map_of(_is_figure)(value) else "figures by name"
    if name == "judge":
        return "" if _JUDGE(value) else "ratings of judges"
    if name == "language_models":
        return "" if _LANGUAGE_MODELS(value) else "counters of language models"
    if name.startswith("n_"):
        return "" if value is None or is_whole(value) else "a whole number"
    return "" if _is_figure(value) else "a figure"


def _is_part(value: Any) -> bool:
    """The figures of one target, attribute, value or label."""
    return isinstance(value, dict) and not any(_problem(name, item) for name, item in value.items())


def _is_figure(value: Any, depth: int = 4) -> bool:
    """A number, null, or an object of such: a value with its interval, or several values by name."""
    if isinstance(value, dict):
        return depth > 0 and all(_is_figure(item, depth - 1) for item in value.values())
    return value is None or is_number(value)
