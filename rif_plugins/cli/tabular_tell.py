"""`rif tabular tell`: the rows of a table as texts that `rif audit` reads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.tabular_types import names, whole
from rif_plugins.tables.templates import PERSPECTIVES

_DESCRIPTION = """\
Tells every row of a table as a text, with a similar text beside it: the same row with other sensitive values,
told again. Writes text, label, similar, row and differs; a .jsonl file also says where each field stands."""
_EPILOG = """\
A template of your own is a text with the columns in braces, in a .txt file or as `text` of a .toml file:
  [The applicant is|I am|You are|She is|He is] a/an {age}-year-old {job} and [earn|earns] {income}.

examples:
  rif tabular tell --data loans.csv --label-column granted --sensitive sex -o texts.csv
  rif tabular tell --data bank.csv --schema bank --perspective i --counterparts 4 -o texts.csv
  rif audit --model model.py --data texts.csv --similar-column similar --out out

Exit codes: 0 done, 2 a mistake in the command."""


def main(arguments: Sequence[str]) -> int:
    """Tell the rows and return the exit code.

    Raises:
        UsageError: An option, the table, the schema or the template cannot be used.
    """
    parser = CommandParser(prog="rif tabular tell", description=_DESCRIPTION, epilog=_EPILOG)
    _add_options(parser)
    given = parser.parse_args(list(arguments))
    from rif_plugins.runner.telling import TellOptions, tell_table

    values = {name: getattr(given, name) for name in TellOptions.__dataclass_fields__}
    values |= {"data": given.data.expanduser(), "out": given.out.expanduser()}
    told = tell_table(TellOptions(**values))
    if not given.quiet:
        alone = f", {told.n_alone} of them without a similar row" if told.n_alone else ""
        for note in told.notes:
            print(note, file=sys.stderr)
        print(f"{told.first}\n", file=sys.stderr)
        print(
            f"{given.out}: {told.n_lines} lines from {told.n_rows} rows{alone}; template "
            f"{told.teller.template.name}, perspective {told.teller.perspective}, "
            f"sensitive {', '.join(told.teller.sensitive)}",
            file=sys.stderr,
        )
    return 0


def _add_options(parser: CommandParser) -> None:
    what = parser.add_argument_group("what")
    what.add_argument(
        "--data", required=True, type=Path, metavar="D", help="CSV, TSV or Parquet with a header"
    )
    what.add_argument(
        "--schema",
        metavar="NAME|S.toml",
        help="adult, bank, compas or employment: --data is the file of that data set (for adult the folder); "
        "or a schema file; without it the columns are inferred",
    )
    what.add_argument(
        "--template",
        metavar="NAME|FILE",
        help="adult, bank, compas, employment, plain, or a .toml or .txt file (that of --schema, else plain)",
    )
    what.add_argument(
        "--perspective",
        default="third",
        metavar="NAME",
        help=f"{', '.join(PERSPECTIVES)}; she and he where no column says the gender (third)",
    )
    what.add_argument("--sensitive", type=names, default=(), metavar="A,B", help="columns that similar rows "
                      "differ in (those of the schema, else of the template)")  # fmt: skip
    what.add_argument(
        "--categorical", type=names, default=(), metavar="A,B", help="columns of numbers that are codes"
    )
    what.add_argument("--label-column", metavar="NAME", help="the right labels (label, target, class or y)")
    what.add_argument(
        "--labels", choices=("given", "predicted"), default="given", help="predicted: write no labels"
    )
    what.add_argument(
        "--missing",
        choices=("tell", "drop", "error"),
        default="tell",
        help="rows that miss a value (tell: as `not given`)",
    )
    what.add_argument("--limit", type=whole(1), metavar="N", help="most rows of the data")
    what.add_argument(
        "--counterparts",
        type=_counterparts,
        default=1,
        metavar="N|all",
        help="similar rows of a row, drawn where there are more, a line each (1)",
    )
    what.add_argument("--seed", type=whole(0), default=0, metavar="N", help="of what is drawn (0)")
    what.add_argument(
        "-o", "--out", required=True, type=Path, metavar="FILE", help="a .csv or .jsonl file; replaced"
    )
    what.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _counterparts(text: str) -> int | None:
    if text.strip() == "all":
        return None
    try:
        number: int = whole(1)(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, or all, got {text!r}") from None
    return number
