"""The audit as one function call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any

from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.runner.audit import Audit
from rif_plugins.runner.audit_result import AuditResult
from rif_plugins.runner.options import AuditOptions, check_language_models, parse_labels, parse_targets
from rif_plugins.runner.places import LOCAL, Place
from rif_plugins.settings import FIELDS, Settings
from rif_plugins.victims.base import Victim

_OPTIONS = tuple(
    name for name in AuditOptions.__dataclass_fields__ if name not in ("model", "data", "settings", "targets")
)


def audit(
    model: str | Victim | Callable[[list[str]], Any],
    data: str | Path | ExampleSet | Iterable[tuple[str, int]] | Iterable[Mapping[str, Any]],
    *,
    out: Path | str | None = None,
    targets: str | tuple[str, ...] = "all",
    workers: int = 1,
    engine: str = LOCAL,
    ray_address: str | None = None,
    resume: bool = False,
    **options: Any,
) -> AuditResult:
    """Audit a text classifier for robust individual fairness.

    Args:
        model: What ``--model`` takes; or a callable from a list of texts to class probabilities or logits,
            ``(n, classes)``. A language model, ``"llm:NAME"``, needs ``prompt``, a file, and ``labels`` or
            ``label_names``, its classes.
        data: What ``--data`` takes; or ``(text, label)`` tuples, or mappings with the keys ``text``,
            ``label`` and, for ready pairs, ``similar``; labels may be missing with ``labels="predicted"``.
        out: Folder for ``run.json``, ``results.jsonl`` and ``summary.json``; None writes nothing.
        targets: ``"all"``, or names of targets and single-axis attacks.
        workers: Processes; more than one needs ``model`` and ``data`` as text.
        engine: ``"local"``, or ``"ray"`` for actors of a Ray cluster, which needs them as text too.
        ray_address: Of the cluster; None starts one on this machine.
        resume: Go on with the run that ``out`` holds.
        **options: Settings (see ``rif_plugins.settings``) and fields of ``AuditOptions``. Settings that are
            not given come from ``rif.toml`` and ``RIF_*`` variables.

    Returns:
        All records, the summary and the configuration.

    Raises:
        UsageError: An option, the model or the data cannot be used.

    >>> from rif_plugins import audit
    >>> run = audit("embedded", "embedded", limit=3, entailment="none", cache="off")
    >>> run.summary["n_examples"]
    3
    """
    unknown = sorted(set(options) - set(FIELDS) - set(_OPTIONS))
    if unknown:
        allowed = ", ".join(sorted({*FIELDS, *_OPTIONS}))
        raise UsageError(f"audit has no option {unknown[0]!r}: expected some of {allowed}")
    _name_classes(options, model)
    for name in ("protect", "label_names"):
        if isinstance(options.get(name), str):
            options[name] = tuple(word.strip() for word in options[name].split(","))
        elif options.get(name) is not None:
            options[name] = tuple(options[name])
    _check_numbers({**options, "workers": workers})
    if resume and out is None:
        raise UsageError("resume=True needs the folder of the earlier run: give out")
    if options.get("prompt") is not None:
        options["prompt"] = Path(options["prompt"])
    settings = Settings.load().updated(**{k: v for k, v in options.items() if k in FIELDS})
    victim = None if isinstance(model, str) else _victim(model)
    examples = None if isinstance(data, (str, Path)) else _examples(data, **_range_of(options))
    place = Place(workers, engine, ray_address)
    if place.is_spread and (victim is not None or examples is not None):
        spread = f"workers={workers}" if workers > 1 else f"engine={engine!r}"
        raise UsageError(
            f"{spread} needs model and data as text, so that each process can load them: "
            "use one process, or put the model into a file.py"
        )
    asked = AuditOptions(
        model=model if isinstance(model, str) else victim.name if victim is not None else "",
        data=str(data) if isinstance(data, (str, Path)) else "given",
        settings=settings,
        targets=parse_targets(targets),
        **{k: v for k, v in options.items() if k in _OPTIONS},
    )
    check_language_models(asked, place)
    ready = Audit.prepare(asked, victim=victim, examples=examples)
    return ready.run(
        Path(out) if out is not None else None,
        workers=workers,
        engine=engine,
        ray_address=ray_address,
        resume=resume,
    )


def _name_classes(options: dict[str, Any], model: Any) -> None:
    """Take the classes of a language model out of ``labels``, as the command line does."""
    labels = options.get("labels", "given")
    if isinstance(labels, str) and labels in ("given", "predicted"):
        return
    is_known = isinstance(model, str) and model.startswith("llm:")
    is_text = isinstance(labels, (str, list, tuple)) and all(isinstance(name, str) for name in labels)
    if not is_known or not is_text:
        raise UsageError(
            f"labels must be given or predicted, got {labels!r}; names of classes go with llm:NAME, "
            "other models take label_names"
        )
    given = labels if isinstance(labels, str) else ",".join(labels)
    names = options.get("label_names")
    if isinstance(names, str):
        names = tuple(name.strip() for name in names.split(","))
    options["labels"], options["label_names"] = parse_labels([given], names and tuple(names), model)


def _check_numbers(options: Mapping[str, Any]) -> None:
    for name, least in (("limit", 1), ("offset", 0), ("query_budget", 1), ("max_length", 1), ("workers", 1)):
        value = options.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UsageError(f"{name} must be a whole number from {least}, got {value!r}")
    seconds = options.get("victim_timeout")
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds < float("inf")):
        raise UsageError(f"victim_timeout must be seconds above 0, got {seconds!r}")


def _victim(model: Any) -> Victim:
    if isinstance(model, Victim):
        return model
    if not callable(model):
        raise UsageError(
            f"model is {type(model).__name__}: expected a name, a Victim, or a callable that maps a list of "
            "texts to class probabilities"
        )
    name = getattr(model, "__qualname__", None) or type(model).__name__
    return Victim(name=str(name), predict=model, identity=model)


def _range_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that choose among given examples; those for files do not go with them."""
    for name in ("text_column", "label_column", "similar_column", "split", "label_map"):
        if options.get(name) is not None:
            raise UsageError(f"{name} goes with data in files, got given examples: leave it out")
    labels, limit, offset = options.get("labels", "given"), options.get("limit"), options.get("offset", 0)
    if labels not in ("given", "predicted"):
        raise UsageError(f"labels must be given or predicted, got {labels!r}")
    return {"labels": labels, "limit": limit, "offset": offset}


def _examples(data: Any, *, labels: str, limit: int | None, offset: int) -> ExampleSet:
    is_given = labels == "given"
    names = data.label_names if isinstance(data, ExampleSet) else None
    source = data.source if isinstance(data, ExampleSet) else "given"
    data = data.examples if isinstance(data, ExampleSet) else data
    if not isinstance(data, Iterable):
        raise UsageError(f"data is {type(data).__name__}: expected rows of (text, label), a path, or a name")
    naming, rows = Naming(), []
    stop = None if limit is None else offset + limit
    for number, row in enumerate(islice(data, offset, stop), start=offset + 1):
        if isinstance(row, Example):
            example = row if is_given else replace(row, label=None)
        else:
            text, label, similar = _fields(row, number, is_given=is_given)
            example = Example(naming.name(text, label), text, label, similar)
        if is_given and example.label is None:
            raise UsageError(
                f"data row {number} has no label: expected the number of its class; "
                "labels='predicted' takes the model's own answers"
            )
        rows.append(example)
    if not rows:
        raise UsageError("data holds no example: expected one or more")
    return ExampleSet.of(rows, names, source)


def _fields(row: Any, number: int, *, is_given: bool) -> tuple[str, int | None, str | None]:
    """Text, label and similar text of a row.

    Raises:
        UsageError: It has another form; the message says which row.
    """
    try:
        if isinstance(row, str):
            raise TypeError
        if isinstance(row, Mapping):
            text, label, similar = row["text"], row.get("label"), row.get("similar")
        else:
            text, label = row
            similar = None
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"data row {number}: expected (text, label) or a mapping with text and label, "
            f"got {type(row).__name__}"
        ) from None
    for name, value in (("text", text), ("similar", similar)):
        if not isinstance(value, str) and not (name == "similar" and value is None):
            raise UsageError(f"data row {number}: expected {name} to be a string, got {type(value).__name__}")
    if label is None or not is_given:
        return text, None, similar or None
    if isinstance(label, bool) or not isinstance(label, Integral):
        raise UsageError(f"data row {number}: expected the number of a class as label, got {label!r}")
    return text, int(label), similar or None
