"""What `rif audit` and :func:`rif_plugins.audit` are asked to do, as one value that a worker can receive."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rif_plugins.core.addresses import without_secrets
from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.outcomes import ALL_TARGETS
from rif_plugins.core.predictions import OutputKind
from rif_plugins.core.reach import ReachSettings, optimism_for
from rif_plugins.errors import UsageError
from rif_plugins.proposers.loading import single_proposers
from rif_plugins.settings import Settings

if TYPE_CHECKING:
    from rif_plugins.runner.places import Place


@dataclass(frozen=True)
class AuditOptions:
    """Everything that decides the records of an audit.

    Attributes:
        model: The value of ``--model``, or a name where a victim was handed over as an object.
        data: The value of ``--data``, likewise.
        settings: Settings shared with the recipes.
        targets: Targets and single-axis attacks, in the order of the records.
        text_column, label_column, similar_column, split, limit, offset: Which data.
        labels: ``"given"``, or ``"predicted"``: the victim's own answer on the unedited text.
        label_map: File that maps labels of the data to classes.
        label_names: Names of the classes, where the victim does not name them; those that a language model
            as the victim chooses among.
        prompt: Prompt file of a language model as the victim.
        query_budget: Most victim rows of one example.
        controls: Also search no-effect controls: swaps between terms of the same group.
        protect: Further words that no edit may touch or write.
        device, max_length: For Hugging Face victims.
        filter_first: Whether the filter sees candidates before the victim; None decides by measuring.
        victim_timeout: Seconds after which a call of the victim is given up; None waits. With it the victim
            runs in a process of its own.
        found_output: What the checks found the victim's answers to be, for workers: each would else decide by
            its own first texts. Not part of ``run.json``.
    """

    model: str
    data: str
    settings: Settings = field(default_factory=Settings)
    targets: tuple[str, ...] = ALL_TARGETS
    text_column: str | None = None
    label_column: str | None = None
    similar_column: str | None = None
    split: str | None = None
    limit: int | None = None
    offset: int = 0
    labels: Literal["given", "predicted"] = "given"
    label_map: Path | None = None
    label_names: tuple[str, ...] | None = None
    query_budget: int | None = None
    controls: bool = False
    protect: tuple[str, ...] = ()
    device: str | None = None
    max_length: int | None = None
    filter_first: bool | None = None
    prompt: Path | None = None
    victim_timeout: float | None = None
    found_output: OutputKind = "auto"

    def plan(self) -> SweepPlan:
        """Targets and search settings."""
        settings = self.settings
        if settings.positions != "shared":
            raise UsageError(
                f"the sweep searches each text alone, got positions {settings.positions!r}: "
                "leave it at 'shared', or use the rifair recipes of `rif attack` for the other modes"
            )
        limit = settings.max_edits
        if settings.exhaustive is not None and limit is not None and limit < settings.exhaustive:
            raise UsageError(
                f"an exhaustive search of {settings.exhaustive} edits and at most {limit} edits contradict "
                "each other: raise max_edits, or lower exhaustive"
            )
        return SweepPlan(
            targets=self.targets,
            settings=ReachSettings(
                max_positions=settings.max_positions,
                max_edits=settings.max_edits,
                beam=settings.beam,
                saliency=settings.saliency,
                mask_token=settings.mask_token,
                n_labels=settings.n_wrong_labels,
                filter_first=bool(self.filter_first),
                optimism=optimism_for(settings.entailment),
            ),
            exhaustive=settings.exhaustive,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``run.json``, the settings among them."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values["settings"] = dataclasses.asdict(self.settings)
        del values["found_output"]
        plain: dict[str, Any] = _plain(values)
        return plain


def parse_targets(names: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Target names from ``"all"`` or a list, in the usual order.

    Raises:
        UsageError: A name is none of the targets.
    """
    wanted = [n.strip() for n in names.split(",")] if isinstance(names, str) else [str(n) for n in names]
    wanted = [name.replace("-", "_") for name in wanted if name]
    if wanted == ["all"]:
        return ALL_TARGETS
    unknown = [name for name in wanted if name not in ALL_TARGETS]
    if unknown or not wanted:
        got = repr(unknown[0]) if unknown else "none"
        raise UsageError(f"--targets: expected all or some of {', '.join(ALL_TARGETS)}, got {got}")
    return tuple(name for name in ALL_TARGETS if name in wanted)


def parse_labels(
    values: Sequence[str], label_names: tuple[str, ...] | None, model: str
) -> tuple[Literal["given", "predicted"], tuple[str, ...] | None]:
    """What ``--labels`` means: the words ``given`` and ``predicted``, or the classes of a language model.

    Args:
        values: Its values, a word or a list with commas each; the last word and the last list count.
        label_names: The value of ``--label-names``, another way to name the classes.
        model: The value of ``--model``.

    Returns:
        Which labels the examples have, and the names of the classes.

    Raises:
        UsageError: A value is neither, or names of classes do not go with the model or with each other.
    """
    labels: Literal["given", "predicted"] = "given"
    classes: tuple[str, ...] | None = None
    for value in values:
        names = tuple(name.strip() for name in value.split(","))
        if names in (("given",), ("predicted",)):
            labels = "given" if names == ("given",) else "predicted"
            continue
        expected = (
            "expected given, predicted, or, with --model llm:NAME, its classes such as negative,positive"
        )
        if len(names) < 2 or not all(names):
            raise UsageError(f"--labels: {expected}, got {value!r}")
        if {"given", "predicted"} & {name.casefold() for name in names}:
            raise UsageError(
                f"--labels {value}: given and predicted have a meaning of their own here: name the classes "
                "with --label-names"
            )
        if not model.startswith("llm:"):
            raise UsageError(f"--labels {value}: {expected}; name the classes of {model} with --label-names")
        classes = names
    if classes and label_names and classes != label_names:
        raise UsageError(
            f"--labels {','.join(classes)} and --label-names {','.join(label_names)} contradict each other: "
            "give one of them"
        )
    return labels, classes or label_names


def proposing_models(proposer: str) -> tuple[str, ...]:
    """The language models that a proposer asks.

    >>> proposing_models("wordnet+llm:a&masked-lm:m, phrases:llm:gguf:b.gguf")
    ('llm:a', 'llm:gguf:b.gguf')
    """
    names = (name.removeprefix("phrases:") for name in single_proposers(proposer))
    return tuple(name for name in names if name.startswith("llm:"))


def check_language_models(options: AuditOptions, place: Place | None = None) -> None:
    """Refuse what does not go with a language model in this run.

    Its calls are counted in one process, so that a limit holds; and its client asks several questions at the
    same time, so more processes would not make it faster.

    Raises:
        UsageError: Something does not.
    """
    settings = options.settings
    is_victim = options.model.startswith("llm:")
    if options.prompt is not None and not is_victim:
        raise UsageError("--prompt goes with --model llm:NAME only: leave it out")
    if is_victim and options.victim_timeout is not None:
        raise UsageError(
            f"--victim-timeout does not go with --model {options.model}: its client has one of its own"
        )
    if place is not None and place.is_spread and (is_victim or proposing_models(settings.proposer)):
        raise UsageError(
            f"{place.name} does not go with language models, whose calls one process counts: leave it "
            "out (several questions are asked at the same time), or propose from a table of `rif candidates "
            "build`"
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return without_secrets(value)  # a key may stand in the query of an address
    return str(value) if isinstance(value, Path) else value
