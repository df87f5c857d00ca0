"""Synthetic runs for tests and benchmarks of reports: seeded, of any size, with hostile texts on request.

The records hold together as those of a real run do: edits turn each text into its perturbed text, the
outcomes follow from the probabilities, and the status follows from the outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from rif_plugins.core.outcomes import TARGETS, Outcome, classify
from rif_plugins.core.pairs import Edit, Pair, Swap
from rif_plugins.core.results import Record, pair_record, record_id, status_of
from rif_plugins.core.run_result import AXES, ROBUSTNESS_ONLY, RunResult

Trace = list[tuple[float, float]]

SWAPS: tuple[tuple[str, str, str, str, str], ...] = (
    ("gender", "male", "female", "he", "she"),
    ("gender", "female", "male", "woman", "man"),
    ("gender", "male", "female", "waiter", "waitress"),
    ("race", "black", "white", "Black", "white"),
    ("religion", "muslim", "christian", "Muslim", "Christian"),
    ("age", "old", "young", "elderly", "young"),
)
WORDS = (
    *("film", "review", "doctor", "story", "careful", "honest", "strange", "quiet", "lovely", "clever"),
    *("dull", "bright", "gentle", "proud", "simple", "bitter", "warm", "slow", "sharp", "plain"),
    *("street", "market", "village", "teacher", "garden", "letter", "dinner", "window", "journey"),
)
GLUE = ("the", "of", "with", "and", "in", "for", "from", "about", "over", "that", "very", "quite", "almost")
HOSTILE: tuple[str, ...] = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "]]><!--",
    "\"quoted\" 'single' &amp; <b>bold</b>",
    "\u202ereversed\u202c",
    "lone\ud800surrogate",
    "nul\x00byte\x0b",
    "line\u2028separator\u2029",
    "=1+1",
    "@SUM(A1)",
    "{{ 7*7 }}{% raw %}",
    "\U0001f9d1\U0001f3fd\u200d\U0001f52c",
    "javascript:alert(1)",
)


@cache
def fake_run(
    n_pairs: int = 60,
    *,
    seed: int = 0,
    n_classes: int = 2,
    hostile: bool = False,
    saliency: bool = True,
    labels: str = "given",
    n_words: int = 18,
    huge: int = 0,
) -> RunResult:
    """A run over ``n_pairs`` pairs and all five targets.

    Args:
        n_pairs: How many pairs.
        seed: Same seed, same run.
        n_classes: How many labels.
        hostile: Put markup, control characters, formulas and the like into texts and names.
        saliency: Record saliency.
        labels: ``"given"`` or ``"predicted"``.
        n_words: Words of a text.
        huge: Length of one word added to the first pair, 0 for none.
    """
    from rif_plugins.metrics.summary import summarise_run

    records = tuple(_records(n_pairs, seed, n_classes, hostile, saliency, n_words, huge))
    configuration = fake_configuration(n_pairs, n_classes, hostile, labels)
    configuration["n_examples"] = n_pairs + max(1, n_pairs // 20) + 1
    return RunResult(configuration, records, summarise_run(records, configuration, n_resamples=20))


def with_findings(n_findings: int, **options: Any) -> RunResult:
    """A run with exactly ``n_findings`` findings: records behind the last one are left out."""
    from rif_plugins.metrics.summary import summarise_run

    run = fake_run(n_findings, **options)
    kept: list[Record] = []
    found = 0
    for record in run.records:
        if found == n_findings and record.is_found:
            break
        found += record.is_found
        kept.append(record)
    return RunResult(run.configuration, tuple(kept), summarise_run(kept, run.configuration, n_resamples=20))


def fake_configuration(n_pairs: int, n_classes: int, hostile: bool, labels: str) -> dict[str, Any]:
    names = ["negative", "positive"] if n_classes == 2 else [f"class {i}" for i in range(n_classes)]
    if hostile:
        names[0] = "<script>window.hacked=1</script>"
    return {
        "schema": "rif-run/1",
        "version": "0.1.0",
        "started": "2026-11-30T10:00:00Z",
        "finished": "2026-11-30T10:07:12Z",
        "seconds": 432.5,
        "model": "<img src=x onerror=window.hacked=1>.py" if hostile else "models/reviews-v2.py",
        "data": "reviews.csv",
        "victim_fingerprint": "5f0c1e9a",
        "settings": {"sensitive": ["gender", "race", "religion", "age"], "min_equivalence": 0.8, "seed": 0},
        "versions": {"rif-plugins": "0.1.0", "numpy": "2.0"},
        "label_names": names,
        "labels": labels,
        "time": {"victim": 210.4, "entailment": 150.2, "proposer": 41.0, "search": 30.9},
        "cost": {
            "victim_rows": 130 * n_pairs,
            "cache_hits": 41 * n_pairs,
            "entailment_rows": 77 * n_pairs,
            "proposer_calls": 33 * n_pairs,
        },
        "victim_checks": [
            {"name": "probabilities", "status": "pass", "message": "rows sum to one"},
            {
                "name": "truncation",
                "status": "warn",
                "message": "3.1% of the texts are longer than the model reads: edits there have no effect",
            },
            {"name": "deterministic", "status": "fail", "message": "the same text got two answers"},
        ],
        "n_examples": n_pairs,
        "data_sha256": "0" * 64,
    }


def _records(
    n_pairs: int, seed: int, n_classes: int, hostile: bool, saliency: bool, n_words: int, huge: int
) -> Iterator[Record]:
    rng = np.random.default_rng(seed)
    for number in range(n_pairs):
        extra = HOSTILE[number % len(HOSTILE)] if hostile else ""
        if huge and number == 0:
            extra += "x" * huge
        pair = _pair(rng, n_words, extra)
        label = int(rng.integers(n_classes))
        example = f"r{number:05d}" + (HOSTILE[number % 4] if hostile else "")
        clean = _clean(rng, label, n_classes)
        for target in (*map(str, TARGETS), *AXES):
            yield _record(rng, pair, example, label, clean, target, n_classes, saliency)
    for number in range(max(1, n_pairs // 20)):
        example = f"s{number:04d}"
        yield Record(example, example, "", "skipped", "no sensitive token")
    message = "model answered NaN for one text" + HOSTILE[0] * hostile
    yield Record("e0000", "e0000", "", "error", "error", message=message)


def _pair(rng: np.random.Generator, n_words: int, extra: str) -> Pair:
    attribute, value_from, value_to, source, target = SWAPS[int(rng.integers(len(SWAPS)))]
    drawn = rng.random(n_words)
    words = [_pick(WORDS if i % 2 else GLUE, p) for i, p in enumerate(drawn)]
    if extra:
        words.insert(0, extra)
        words.insert(n_words // 2, extra[:40])
    place = int(rng.integers(len(words)))
    before = " ".join(words[:place]) + " " * (place > 0)
    after = " " + " ".join(words[place:])
    start = len(before)
    swap = Swap(start, start + len(source), source, target, start)
    return Pair(before + source + after, before + target + after, (swap,), attribute, value_from, value_to)


def _pick(words: Sequence[str], p: float) -> str:
    return words[int(p * len(words))]


def _clean(rng: np.random.Generator, label: int, n_classes: int) -> np.ndarray:
    both = np.stack([_with_label(0.55 + 0.44 * rng.random(), label, n_classes) for _ in range(2)])
    wrong = rng.random()
    if wrong < 0.06:  # differs already
        both[1] = _with_label(0.1 + 0.35 * rng.random(), label, n_classes)
    elif wrong < 0.12:
        both[:] = _with_label(0.1 + 0.35 * rng.random(), label, n_classes)
    return both


def _with_label(p: float, label: int, n_classes: int) -> np.ndarray:
    row = np.full(n_classes, (1 - p) / (n_classes - 1) * (0.5 if n_classes > 2 else 1.0))
    row[(label + 1) % n_classes] += (1 - p) * (0.5 if n_classes > 2 else 0.0)
    row[label] = p
    return row


def _record(
    rng: np.random.Generator,
    pair: Pair,
    example: str,
    label: int,
    clean: np.ndarray,
    target: str,
    n_classes: int,
    saliency: bool,
) -> Record:
    before = classify(label, int(clean[0].argmax()), int(clean[1].argmax()))
    natural = _holds(before, target)
    aims = rng.random() < {"robustness_only": 0.55, "fairness_only": 0.2}.get(target, 0.35)
    final = clean if natural else _final(rng, clean, label, n_classes, target, aims)
    n_steps = 0 if natural else int(rng.integers(1, 6))
    after = classify(label, int(final[0].argmax()), int(final[1].argmax()))
    edits = _edits(rng, pair, n_steps, target == ROBUSTNESS_ONLY)
    trace = _trace(rng, clean[:, label], final[:, label], n_steps)
    sides = {edit.side for edit in edits}
    spans = _word_spans(pair.original)
    scores = rng.normal(0, 0.1, len(spans)).round(4).tolist()
    return pair_record(
        pair,
        texts=(_apply(pair.original, edits, "original"), _apply(pair.similar, edits, "similar")),
        edits=edits,
        clean=clean,
        final=final,
        outcomes=(before, after),
        id=record_id(example, pair, target),
        example=example,
        label=label,
        target=target,
        status=_status(before, after, target, natural),
        stop_reason="natural" if natural else "found" if _holds(after, target) else "exhausted",
        equivalence={
            side: {"forward": 0.95, "backward": 0.95, "score": round(0.8 + 0.19 * rng.random(), 4)}
            for side in sorted(sides)
        },
        trajectory=[
            {"step": step, "p_original": round(a, 8), "p_similar": round(b, 8), "objective": round(b - a, 8)}
            for step, (a, b) in enumerate(trace)
        ],
        queries={
            "victim_rows": 40 + n_steps * 25,
            "cache_hits": 12,
            "entailment_rows": 30,
            "proposer_calls": 9,
        },
        seconds=round(0.2 + rng.random(), 4),
        scorer="embedded minilm-nli-1",
        saliency=[
            {"side": "original", "start": start, "end": end, "score": score}
            for (start, end), score in zip(spans, scores, strict=True)
        ]
        if saliency
        else [],
    )


def _holds(outcome: Outcome, target: str) -> bool:
    if target == "robustness_only":
        return not outcome.is_robust
    if target == "fairness_only":
        return not outcome.is_fair
    return outcome == target


def _status(before: Outcome, after: Outcome, target: str, natural: bool) -> Any:
    if target not in AXES:
        return status_of(before, after, Outcome(target))
    if natural:
        return "natural"
    if not _holds(after, target):
        return "failed"
    return "induced" if before is Outcome.ROBUST_FAIR else "shifted"


def _final(
    rng: np.random.Generator, clean: np.ndarray, label: int, n_classes: int, target: str, aims: bool
) -> np.ndarray:
    low, high = 0.05 + 0.4 * rng.random(), 0.55 + 0.4 * rng.random()
    wanted = {
        "robust_biased": (high, low),
        "unrobust_fair": (low, low),
        "unrobust_biased": (low, high),
        "robustness_only": (low, float(clean[1, label])),
        "fairness_only": (high, low) if rng.random() < 0.5 else (low, high),
    }[target]
    if not aims:
        return np.stack([_with_label(max(0.51, float(p) - 0.1), label, n_classes) for p in clean[:, label]])
    return np.stack([_with_label(p, label, n_classes) for p in wanted])


def _trace(rng: np.random.Generator, start: Sequence[float], end: Sequence[float], n_steps: int) -> Trace:
    if not n_steps:
        return [(float(start[0]), float(start[1]))]
    share = np.sort(rng.random(n_steps))
    share[-1] = 1.0
    points = [tuple(float(a + s * (b - a)) for a, b in zip(start, end, strict=True)) for s in (0.0, *share)]
    return [(a, b) for a, b in points]


def _word_spans(text: str) -> list[tuple[int, int]]:
    spans, position = [], 0
    for word in text.split(" "):
        if word:
            spans.append((position, position + len(word)))
        position += len(word) + 1
    return spans


def _edits(rng: np.random.Generator, pair: Pair, n_steps: int, one_side: bool) -> list[Edit]:
    edits = []
    for side in ("original",) if one_side else ("original", "similar"):
        free = [
            (start, end)
            for start, end in _word_spans(pair.text(side))  # type: ignore[arg-type]
            if not any(s.start < end and start < s.end for s in pair.protected(side))  # type: ignore[arg-type]
            and end - start < 60
        ]
        chosen = rng.permutation(len(free))[: n_steps if side == "original" else (n_steps + 1) // 2]
        for index in sorted(chosen):
            start, end = free[index]
            edits.append(Edit(side, start, end, pair.text(side)[start:end], _pick(WORDS, rng.random())))  # type: ignore[arg-type]
    return edits


def _apply(text: str, edits: Sequence[Edit], side: str) -> str:
    for edit in sorted((e for e in edits if e.side == side), key=lambda e: -e.start):
        text = text[: edit.start] + edit.target + text[edit.end :]
    return text


def fake_comparison(n_models: int = 3, *, n_pairs: int = 40, hostile: bool = False) -> dict[str, Any]:
    """A comparison of fake runs over the same pairs; the better on one axis, the worse on both at once."""
    from rif_plugins.metrics.compare import compare_runs

    base = fake_run(n_pairs)
    stands = {"status": "failed", "outcome": "robust_fair", "clean_outcome": "robust_fair"}
    runs = []
    for number in range(n_models):
        rng = np.random.default_rng(number)
        spared = (0.3 + 0.25 * number, 0.95 - 0.3 * number)  # of single-axis attacks, of targets
        records = tuple(
            replace(record, **stands)
            if record.is_evaluated and rng.random() < spared[record.target not in AXES]
            else record
            for record in base.records
        )
        runs.append(RunResult(base.configuration, records, {}))
    names = [HOSTILE[number] if hostile else f"model-{number}" for number in range(n_models)]
    return compare_runs(runs, names, n_resamples=20).to_dict()
