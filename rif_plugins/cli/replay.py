"""`rif replay`: findings of a run asked again, on the same model or on another one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.report import add_printing, load_run, print_result, tell
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    from rif_plugins.runner.replaying import Replay, ReplayResult

EXIT_DONE, EXIT_HOLDS, EXIT_SOME_ERRORS = 0, 1, 3
REPLAY_FILE = "replay.jsonl"
_NEAREST = 5
_ALL_SHOWN = 60
_HEAD = ("finding", "target", "attribute", "then", "now", "p original", "p similar", "verdict")
_DESCRIPTION = """\
Ask a model again about the findings of a run: the unedited and the perturbed texts of each. Says which
findings still hold, that is, have their pair in the target outcome. Without --finding all findings of the run
are asked: a frozen suite for a mended model or for another one. Nothing is searched."""
_EPILOG = """\
examples:
  rif replay out --finding 37ac63
  rif replay out                                    the whole suite, on the model of the run
  rif replay out --model ./retrained --fail-on holds   in CI, after a fix

Verdicts: holds; holds unedited (the edits are not needed any more); gone; now OUTCOME (out of the target, but
another violation). Writes replay.jsonl, a record a finding. Exit codes: 0 done, 1 a finding holds and
--fail-on holds was given, 2 a mistake in the command, 3 done, but the model failed on some findings."""


def main(arguments: Sequence[str]) -> int:
    """Ask about findings again and return the exit code.

    Raises:
        UsageError: The run, a finding or the model cannot be used.
    """
    given = _parser().parse_args(list(arguments))
    run = load_run(given.run)
    findings = choose_findings(run, given.finding)
    from rif_plugins.runner.replaying import replay, replay_options, write_replay

    options = replay_options(
        run,
        given.model,
        device=given.device,
        max_length=given.max_length,
        victim_output=given.victim_output,
    )
    result = replay(run, findings, options)
    folder = given.out or (given.run if given.run.is_dir() else given.run.parent)
    write_replay(result, folder / REPLAY_FILE)
    for note in result.notes:
        tell(given, note)
    print_result(given, result.to_dict(), lambda: f"{text_of(result)}\n\nrecords: {folder / REPLAY_FILE}")
    if given.fail_on == "holds" and result.rate.successes:
        return EXIT_HOLDS
    return EXIT_SOME_ERRORS if result.n_errors else EXIT_DONE


def _parser() -> CommandParser:
    parser = CommandParser(prog="rif replay", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("run", type=Path, metavar="DIR", help="folder of a run, or a results file")
    parser.add_argument(
        "--finding",
        action="append",
        default=[],
        metavar="ID",
        help="id of a finding, or the beginning of one; may be given again (all findings)",
    )
    parser.add_argument("--model", metavar="M2", help="as for `rif audit` (the model of the run)")
    parser.add_argument("--device", metavar="NAME", help="torch device of a Hugging Face model (the run's)")
    parser.add_argument("--max-length", type=int, metavar="N", help="most tokens of a text")
    parser.add_argument(
        "--victim-output",
        choices=("auto", "probabilities", "logits"),
        help="what the model returns (as in the run; auto with --model)",
    )
    parser.add_argument(
        "--fail-on", choices=("holds",), help="holds: exit with 1 when any finding holds, for CI after a fix"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder of {REPLAY_FILE} (that of the run)")
    add_printing(parser)
    return parser


def choose_findings(run: RunResult, wanted: Sequence[str] = ()) -> tuple[Record, ...]:
    """The findings of a run, each once; or those with the ids, or unique beginnings of ids, that are named.

    Raises:
        UsageError: The run has no finding, or a name fits none or several.
    """
    records = {record.id: record for record in run.records}
    findings = {name: record for name, record in records.items() if record.is_found}
    if not findings:
        raise UsageError(f"the run has no finding in its {len(records)} records: there is nothing to replay")
    if not wanted:
        return tuple(findings.values())
    chosen = {_named(name.strip(), findings, records) for name in wanted}
    return tuple(record for name, record in findings.items() if name in chosen)


def _named(name: str, findings: Mapping[str, Record], records: Mapping[str, Record]) -> str:
    if name in findings:
        return name
    fitting = [found for found in findings if name and found.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(
            f"--finding {name}: {len(fitting)} findings begin like this, such as "
            f"{', '.join(fitting[:_NEAREST])}: give more of the id"
        )
    if name in records:
        raise UsageError(
            f"--finding {name}: this record is no finding, its status is {records[name].status}: "
            "expected an id of findings.csv"
        )
    near = sorted(findings, key=lambda found: -difflib.SequenceMatcher(None, name, found).ratio())[:_NEAREST]
    raise UsageError(
        f"--finding {name}: none of the {len(findings)} findings has this id; nearest: {', '.join(near)}"
    )


def text_of(result: ReplayResult) -> str:
    """A line a finding, then how many hold, by target."""
    rows: list[tuple[str, ...]] = [
        ("finding", "target", "attribute", "then", "now", "p original", "p similar", "verdict")
    ]
    shown = sorted(result.replays, key=lambda one: not one.holds) if _is_long(result) else result.replays
    rows += [_row(replay) for replay in shown[:_ALL_SHOWN]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows]
    if _is_long(result):
        lines.append(f"... and {len(result.replays) - _ALL_SHOWN} more, those that hold first")
    lines.append("")
    targets = {**result.by_target(), "all": result.rate}
    width = max(map(len, targets))
    lines += [f"{name:<{width}}  holds {rate}" for name, rate in targets.items()]
    if result.n_errors:
        first = next(one.after.message for one in result.replays if one.after.status == "error")
        lines.append(f"{result.n_errors} findings ended in an error, the first: {_one_line(first)}")
    lines += _detail(result.replays[0]) if len(result.replays) == 1 else []
    return "\n".join(lines)


def _is_long(result: ReplayResult) -> bool:
    return len(result.replays) > _ALL_SHOWN


def _row(replay: Replay) -> tuple[str, ...]:
    before, after = replay.before, replay.after
    is_error = after.status == "error"
    changes = ["" if is_error else _change(replay, f"perturbed_{side}") for side in ("original", "similar")]
    now = "error" if is_error else after.outcome
    return (before.id, before.target, before.attribute, before.outcome, now, *changes, replay.verdict)


def _change(replay: Replay, name: str) -> str:
    """``p`` of the right label, then and now."""
    before, after = (_p(record, name) for record in (replay.before, replay.after))
    return f"{before} -> {after}"


def _p(record: Record, name: str) -> str:
    row = record.probabilities.get(name) or []
    has_label = record.label is not None and 0 <= record.label < len(row)
    return f"{row[record.label]:.2f}" if has_label and record.label is not None else "?"


def _detail(replay: Replay) -> list[str]:
    """The four texts of a single finding with the probability of the right label, then and now."""
    lines = [""]
    for name in ("original", "similar", "perturbed_original", "perturbed_similar"):
        lines.append(f"{name.replace('_', ' ')} ({_change(replay, name)})")
        lines.append(f"  {_one_line(getattr(replay.after, name))}")
    return lines


def _one_line(text: str) -> str:
    """Without line breaks and control characters, so that a text cannot write to the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
