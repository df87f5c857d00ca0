"""What `rif audit` and :func:`rif_plugins.audit` are asked to do, as one value that a worker can receive."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.outcomes import ALL_TARGETS
from rif_plugins.core.reach import ReachSettings
from rif_plugins.errors import UsageError
from rif_plugins.settings import Settings


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
        label_names: Names of the classes, where the victim does not name them.
        query_budget: Most victim rows of one example.
        controls: Also search no-effect controls: swaps between terms of the same group.
        protect: Further words that no edit may touch or write.
        device, max_length: For Hugging Face victims.
        filter_first: Whether the filter sees candidates before the victim; None decides by measuring.
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
            ),
            exhaustive=settings.exhaustive,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``run.json``, the settings among them."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values["settings"] = dataclasses.asdict(self.settings)
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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
