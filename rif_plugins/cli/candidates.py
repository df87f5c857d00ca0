"""`rif candidates build`: generate and filter off-line, into a table that runs reuse."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.errors import UsageError
from rif_plugins.settings import FIELDS, Settings, allowed_values

if TYPE_CHECKING:
    from rif_plugins.runner.candidate_rows import CandidateCounts
    from rif_plugins.runner.candidates import CandidateBuild, CandidateOptions

EXIT_DONE, EXIT_STOPPED = 0, 3
# Settings that have nothing to say here: how a victim is searched.
_NOT_HERE = (
    "positions",
    "max_positions",
    "max_edits",
    "saliency",
    "beam",
    "exhaustive",
    "mask_token",
    "n_wrong_labels",
    "victim_output",
    "batch_size",
    "filter_order",
    "results",
    "llm_samples",
    "llm_max_tokens",
    "judge",
    "judge_sample",
)
_DESCRIPTION = """\
Writes a table of candidates: each word of the data that is not sensitive, what a proposer would put in its
place, and what the filter says about it. `--proposer table:FILE` then reads it in any run. Texts without a
sensitive word, which no audit searches, are left out; the similar texts are taken with the others. The table
holds words and digests, no texts. Beside it FILE.run.json tells how it was made."""
_EPILOG = """\
examples:
  rif candidates build --data reviews.csv -o candidates.jsonl
  rif candidates build --data reviews.csv --proposer llm:NAME --max-candidates 20 -o candidates.jsonl --resume
  rif audit --model ./my-bert --data reviews.csv --proposer table:candidates.jsonl --out out

Columns: token, context_hash, candidate, source, forward, backward, score (S_eq), cosine. Settings can also
stand in rif.toml or in RIF_* environment variables. Exit codes: 0 done, 2 a mistake in the command, 3
stopped because the proposer no longer answers (--resume goes on)."""


def main(arguments: Sequence[str]) -> int:
    """Run `rif candidates` and return the exit code.

    Raises:
        UsageError: An option, the data or the file cannot be used.
    """
    parser = _parser()
    given = parser.parse_args(list(arguments))
    if given.action != "build":
        raise UsageError(f"unknown action {given.action!r}: expected build; see `rif candidates --help`")
    if given.resume and given.overwrite:
        raise UsageError("--resume and --overwrite contradict each other: give one of them")
    from rif_plugins.runner.candidates import CandidateBuild

    is_plain = given.format == "text" and not given.quiet
    with nullcontext() if is_plain else redirect_stdout(sys.stderr):
        options = _options_from(given)
        if is_plain:
            print(
                f"loading {options.data} and {options.settings.entailment} ...", file=sys.stderr, flush=True
            )
        build = CandidateBuild.prepare(options)
        try:
            counts = build.write(
                given.out,
                resume=given.resume,
                overwrite=given.overwrite,
                progress=_progress if is_plain else None,
            )
        finally:
            build.close()
    if given.format == "json":
        print(json.dumps({"table": str(given.out), **build.configuration(), **_told(build, counts)}))
    elif not given.quiet:
        print(_text(build, counts, given.out))
    if build.stopped:
        print(
            f"rif candidates: stopped after {counts.examples:,} of {len(build.examples):,} examples: "
            f"{build.stopped}; --resume goes on",
            file=sys.stderr,
        )
        return EXIT_STOPPED
    return EXIT_DONE


def _parser() -> CommandParser:
    parser = CommandParser(prog="rif candidates", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("action", metavar="build", help="the one action there is")
    what = parser.add_argument_group("what")
    what.add_argument(
        "--data",
        required=True,
        metavar="D",
        help="a CSV, TSV, JSONL or Parquet file, a folder or name for the package datasets, or `embedded`",
    )
    for name, text in (
        ("--text-column", "column of the texts"),
        ("--similar-column", "column of ready similar texts, in place of the lexicon's"),
        ("--split", "split of a data set"),
    ):
        what.add_argument(name, metavar="NAME", help=text)
    what.add_argument("--limit", type=_positive, metavar="N", help="most examples")
    what.add_argument("--offset", type=_not_negative, default=0, metavar="N", help="rows to pass over first")
    what.add_argument("--all-texts", action="store_true", help="also texts without a sensitive word")
    what.add_argument(
        "--no-similar-texts", action="store_true", help="only the texts of the data, not their counterparts"
    )
    what.add_argument(
        "--protect", action="append", default=[], metavar="WORD", help="a word no edit may touch or write"
    )
    how = parser.add_argument_group("how (settings, as in rif.toml)")
    for key in FIELDS:
        if key not in _NOT_HERE:
            how.add_argument(
                f"--{key.replace('_', '-')}", dest=f"setting_{key}", metavar="VALUE", help=allowed_values(key)
            )
    how.add_argument("--no-cache", action="store_true", help="the same as --cache off")
    how.add_argument("--cosine", metavar="NAME", help="a sentence encoder: fills the column cosine")
    file = parser.add_argument_group("file")
    file.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the table, FILE.jsonl")
    file.add_argument("--resume", action="store_true", help="go on with a table that was begun")
    file.add_argument("--overwrite", action="store_true", help="begin again, whatever is there")
    file.add_argument(
        "--keep-refused", action="store_true", help="also write what the filter refused, and why"
    )
    file.add_argument("--keep-texts", action="store_true", help="also write the sentence of each token")
    file.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    file.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return parser


def _options_from(given: argparse.Namespace) -> CandidateOptions:
    from rif_plugins.runner.candidates import CandidateOptions

    changed = {key: getattr(given, f"setting_{key}") for key in FIELDS if key not in _NOT_HERE}
    changed = {key: value for key, value in changed.items() if value is not None}
    if given.no_cache:
        if changed.get("cache", "off") != "off":
            raise UsageError("--no-cache and --cache on contradict each other: give one of them")
        changed["cache"] = "off"
    return CandidateOptions(
        data=given.data,
        settings=Settings.load().updated(**changed),
        text_column=given.text_column,
        similar_column=given.similar_column,
        split=given.split,
        limit=given.limit,
        offset=given.offset,
        protect=tuple(given.protect),
        all_texts=given.all_texts,
        similar_texts=not given.no_similar_texts,
        keep_refused=given.keep_refused,
        keep_texts=given.keep_texts,
        cosine=given.cosine,
    )


def _positive(text: str) -> int:
    return _whole(text, 1)


def _not_negative(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text}")
    return number


def _progress(steps: Iterable[int], total: int) -> Iterable[int]:
    from tqdm import tqdm

    with tqdm(total=total, unit="example", desc="candidates", file=sys.stderr) as bar:
        for number in steps:
            bar.update(number)
            yield number


def _told(build: CandidateBuild, counts: CandidateCounts) -> dict[str, Any]:
    """What was done, for programs."""
    models = build.models.to_dict() if build.models is not None and build.models.is_used else None
    return {"counts": counts.to_dict(), "language_models": models, "stopped": build.stopped}


def _text(build: CandidateBuild, counts: CandidateCounts, table: Path) -> str:
    """What was done, in a few lines."""
    entailment = build.maker.entailment
    share = f" ({counts.accepted / counts.proposed:.1%})" if counts.proposed else ""
    rate = f", {counts.accepted / counts.tokens:.2f} a word" if counts.tokens else ""
    filtered = "none, every candidate is accepted"
    if entailment is not None:
        kind = "cosine" if build.maker.is_cosine else "S_eq"
        filtered = (
            f"{entailment.scorer.name} {entailment.scorer.version}, {kind} >= {entailment.min_equivalence}, "
            f"scope {entailment.scope}"
        )
    lines = [
        f"texts:      {counts.texts:,} of {counts.examples:,} examples "
        f"({counts.left_out:,} left out: no sensitive word)",
        f"words:      {counts.tokens:,}, with an accepted candidate {counts.tokens_with_candidates:,}",
        f"candidates: {counts.proposed:,} proposed, {counts.accepted:,} accepted{share}{rate}",
        *(
            f"  {source}: {proposed:,} proposed, {accepted:,} accepted"
            for source, (proposed, accepted) in sorted(counts.sources.items())
        ),
        f"filter:     {filtered}",
        f"table:      {table}, {counts.rows:,} rows; "
        + ("not finished" if build.stopped else f"use it with --proposer table:{table}"),
    ]
    if build.models is not None and build.models.is_used:
        told = build.models.to_dict()
        is_priced = build.models.budget.prompt_price or build.models.budget.completion_price
        lines.append(
            f"models:     {', '.join(told['names'])}: {told['calls']:,} calls, {told['stored']:,} answers "
            f"stored before, {told['prompt_tokens']:,} + {told['completion_tokens']:,} tokens"
            + (f", cost {told['cost']:,.4f}" if is_priced else "")
        )
    if counts.unwritable:
        lines.insert(3, f"  {counts.unwritable:,} left out: too long, or with control characters")
    if counts.unanswered:
        lines.insert(2, f"  {counts.unanswered:,} without an answer of the proposer")
    if not counts.rows and not build.stopped:
        lines.append(
            "the table is empty: no run can read it; try another proposer or a lower --min-equivalence"
        )
    return "\n".join(lines)
