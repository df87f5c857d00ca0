"""One page over all studies: how each went, and every claim of the publications beside our figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_lab.study import VERDICTS, markdown

OK, NOT_RUN, FAILED = "ok", "not run", "failed"


@dataclass(frozen=True)
class Outcome:
    """How one study went.

    Attributes:
        name: The study.
        state: ``OK``, ``NOT_RUN`` or ``FAILED``.
        seconds, cpu_seconds: Wall and processor time of its process.
        message: Why it was not run, or how it failed.
    """

    name: str
    state: str
    seconds: float
    cpu_seconds: float
    message: str = ""


def read(out: Path, name: str) -> dict[str, Any] | None:
    """What a study wrote; None where there is nothing that can be read."""
    try:
        content = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def reason(content: dict[str, Any]) -> str | None:
    """Why a study was not run; None where it was."""
    if content.get("tables"):
        return None
    notes = [limit for limit in content.get("limits", []) if limit.startswith("not run: ")]
    return notes[-1].removeprefix("not run: ") if notes else None


def page(outcomes: Sequence[Outcome], out: Path, size: str) -> str:
    """The summary of a run."""
    contents = {one.name: read(out, one.name) or {} for one in outcomes if one.state != FAILED}
    origin: dict[str, Any] = next((c["provenance"] for c in contents.values() if "provenance" in c), {})
    total, cpu = sum(one.seconds for one in outcomes), sum(one.cpu_seconds for one in outcomes)
    lines = ["# Studies of the publications, repeated", ""]
    if origin:
        lines += [
            f"{origin['time'][:10]}, {origin['cpu']}, {origin['cores']} cores, commit {origin['commit']}."
        ]
    lines += [
        f"Size: {size}. {len(outcomes)} studies, {total / 60:.1f} minutes of wall time, {cpu / 60:.1f} of "
        "processor time.",
        "",
        *markdown(
            ("study", "what it repeats", "state", "seconds", "processor seconds"),
            [_row(one, contents.get(one.name, {})) for one in outcomes],
        ),
        "",
        "## Claim by claim",
        "",
        _counted(contents),
        "",
        "`same`: our figure supports the claim; `different`: it speaks against it; `not testable here`: too "
        "few findings, or something that the claim needs is absent. Every study's page says its limits.",
        "",
        *markdown(
            ("claim", "publication", "here", "verdict", "why", "study"),
            [
                (c["claim"], c["theirs"], c["ours"], c["verdict"], c["why"], f"[{name}]({name}.md)")
                for name, content in contents.items()
                for c in content.get("comparisons", [])
            ],
        ),
        "",
    ]
    return "\n".join(lines)


def _row(one: Outcome, content: dict[str, Any]) -> tuple[str, ...]:
    state = one.state if not one.message else f"{one.state}: {one.message}"
    link = one.name if one.state == FAILED else f"[{one.name}]({one.name}.md)"
    return link, content.get("source", "–"), state, f"{one.seconds:.0f}", f"{one.cpu_seconds:.0f}"


def _counted(contents: dict[str, dict[str, Any]]) -> str:
    verdicts = [c["verdict"] for content in contents.values() for c in content.get("comparisons", [])]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS) + "."
