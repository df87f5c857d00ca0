"""`rif score`: what any TextAttack attack did, in terms of robust individual fairness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.report import add_printing, print_result
from rif_plugins.core.run_result import write_json
from rif_plugins.settings import Settings, allowed_values

SCORE_FILE = "score.json"
_SETTINGS = (
    *("sensitive", "lexicon", "counterparts", "seed", "victim_output", "batch_size"),
    *("cache", "cache_dir", "cache_size"),
)
_DESCRIPTION = """\
Read the CSV log of any TextAttack attack, build the similar texts of what it attacked, and tell how the pairs
are answered: before the attack, with the attack's edits on the original side only, and with the same edits on
both sides. So a robustness attack is measured in terms of robust individual fairness."""
_EPILOG = """\
example:
  textattack attack --recipe textfooler --model-from-file victim.py ... --log-to-csv log.csv
  rif score log.csv --model victim.py --sensitive gender,race --out out/textfooler

The model should be the one that was attacked. With --out: score.json. Exit codes: 0 done, 2 a mistake in the
command, or a log that cannot be read."""


def main(arguments: Sequence[str]) -> int:
    """Score a log and return the exit code.

    Raises:
        UsageError: The log, the model or an option cannot be used.
    """
    parser = CommandParser(prog="rif score", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("log", type=Path, metavar="LOG.csv", help="written by `textattack ... --log-to-csv`")
    parser.add_argument("--model", required=True, metavar="M", help="the attacked model, as for `rif audit`")
    for key in _SETTINGS:
        parser.add_argument(
            f"--{key.replace('_', '-')}", dest=f"setting_{key}", metavar="VALUE", help=allowed_values(key)
        )
    parser.add_argument("--device", metavar="NAME", help="torch device of a Hugging Face model")
    parser.add_argument("--max-length", type=int, metavar="N", help="most tokens of a text")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder for {SCORE_FILE}")
    add_printing(parser)
    given = parser.parse_args(list(arguments))
    changed = {key: getattr(given, f"setting_{key}") for key in _SETTINGS}
    settings = Settings.load().updated(**{key: value for key, value in changed.items() if value is not None})
    from rif_plugins.runner.options import AuditOptions
    from rif_plugins.runner.scoring import score_log

    options = AuditOptions(
        given.model, str(given.log), settings, device=given.device, max_length=given.max_length
    )
    score = score_log(given.log, options)
    data: dict[str, Any] = {
        **score.table.to_dict(),
        "model": score.model,
        "victim_fingerprint": score.fingerprint,
        "log": given.log.name,
        "sensitive": list(settings.sensitive) if settings.sensitive else None,
        "counterparts": settings.counterparts,
        "seed": settings.seed,
    }
    if given.out is not None:
        write_json(given.out / SCORE_FILE, data)
    heading = f"{given.log.name} on {score.model}: share of pairs, with 95 % interval\n\n"
    print_result(given, data, lambda: (heading + score.table.to_text()).rstrip("\n"))
    return 0
