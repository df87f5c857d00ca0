"""What a proposer yields: how many of its candidates the filter accepts, and how many findings they make."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from entailment_lab.measures import proportion
from numpy.typing import NDArray

from rif_plugins.core.results import Record
from rif_plugins.core.tokens import word_spans
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter, EntailmentScorer
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Candidate, Proposer, TokenContext
from rif_plugins.runner.sweep import Sweep
from rif_plugins.similar import Lexicon, PairSource, find_spans

SEED = 20_261_130
ATTRIBUTE = "gender"
HALF = 0.5  # the most probable of three labels for sure
_BATCH = 512


@dataclass(frozen=True, slots=True)
class Proposal:
    """One candidate in its place."""

    context: TokenContext
    candidate: Candidate

    @property
    def pair(self) -> tuple[str, str]:
        """The text without and with the edit."""
        context = self.context
        edited = context.text[: context.start] + self.candidate.text + context.text[context.end :]
        return context.text, edited


def gender_sentences(data: Path, split: str, lexicon: Lexicon) -> list[Example]:
    """The sentences of one split of SST-2 that hold a gender token."""
    found = []
    with (data / "sst2" / f"{split}.tsv").open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            text, _, label = line.rstrip("\n").rpartition("\t")
            if text and find_spans(text, lexicon, attributes=[ATTRIBUTE]):
                found.append(Example(f"{split}-{number}", text, int(label)))
    return found


def bold_sentences(folder: Path, lexicon: Lexicon) -> tuple[list[Example], Any]:
    """The sentences of BOLD's held-out half with a gender token, mixed, and a victim of the other half."""
    from search_lab.victims import TfidfSoftmax
    from sst2_victims.bold import read_bold

    splits, _ = read_bold(folder)
    rows = sorted(zip(*splits["test"], strict=True), key=lambda row: sha256(row[0].encode()).digest())
    found = [
        Example(f"bold-{number}", text, label)
        for number, (text, label) in enumerate(rows)
        if find_spans(text, lexicon, attributes=[ATTRIBUTE])
    ]
    return found, TfidfSoftmax.fit(*splits["train"])


def editable_tokens(text: str, lexicon: Lexicon) -> list[TokenContext]:
    """The words of a text that are not sensitive."""
    sensitive = find_spans(text, lexicon)
    return [
        TokenContext(text, word.start, word.end)
        for word in word_spans(text)
        if not any(word.start < span.end and span.start < word.end for span in sensitive)
    ]


def proposals(proposer: Proposer, texts: Sequence[str], lexicon: Lexicon) -> tuple[list[Proposal], int]:
    """All candidates for all editable tokens, and the number of these tokens."""
    found: list[Proposal] = []
    n_tokens = 0
    for text in texts:
        contexts = editable_tokens(text, lexicon)
        n_tokens += len(contexts)
        for context, candidates in zip(contexts, proposer.propose(contexts), strict=True):
            found += [Proposal(context, candidate) for candidate in candidates]
    return found, n_tokens


def accepted_share(
    proposer: Proposer,
    texts: Sequence[str],
    lexicon: Lexicon,
    gate: EntailmentFilter,
    *,
    most: int | None = None,
    second: EntailmentScorer | None = None,
) -> dict[str, Any]:
    """How many of a proposer's candidates pass the filter, in a seeded sample of ``most`` of them.

    Args:
        proposer: The proposer, with the cap of a run.
        texts: Where it proposes.
        lexicon: What is sensitive.
        gate: The filter.
        most: Most edits to judge; None judges all.
        second: A second entailment model that filters nothing: how good are the accepted ones?

    Returns:
        Candidates and accepted candidates an editable token, the share that passes (all and by source), and
        the second model's mean ``S_eq`` of the accepted edits with the share it calls entailment both ways.
    """
    found, n_tokens = proposals(proposer, texts, lexicon)
    sample = found if most is None or len(found) <= most else Random(SEED).sample(found, most)
    verdicts = [
        verdict
        for start in range(0, len(sample), _BATCH)
        for verdict in gate.check_many([each.pair for each in sample[start : start + _BATCH]])
    ]
    passed = [each for each, verdict in zip(sample, verdicts, strict=True) if verdict.accepted]
    judged = Counter(each.candidate.source for each in sample)
    passed_by = Counter(each.candidate.source for each in passed)
    share = len(passed) / len(sample) if sample else 0.0
    with_accepted = len({each.context for each in passed}) / max(1, len({e.context for e in sample}))
    result: dict[str, Any] = {
        "tokens": n_tokens,
        "candidates": len(found),
        "judged": len(sample),
        "tokens_with_candidates": len({each.context for each in found}),
        "candidates_per_token": round(len(found) / max(1, n_tokens), 4),
        "accepted": proportion(len(passed), len(sample)),
        "accepted_per_token": round(share * len(found) / max(1, n_tokens), 4),
        "tokens_accepted_of_judged": round(with_accepted, 4),
        "sources": {name: proportion(passed_by[name], judged[name]) for name in sorted(judged)},
    }
    if second is not None and passed:
        result["second_model"] = _second_opinion(second, passed)
    return result


def _second_opinion(second: EntailmentScorer, passed: Sequence[Proposal]) -> dict[str, Any]:
    chosen = passed if len(passed) <= _BATCH else Random(SEED).sample(list(passed), _BATCH)
    verdicts = EntailmentFilter(second, veto=None).check_many([each.pair for each in chosen])
    entailed = sum(min(v.forward, v.backward) > HALF for v in verdicts)
    return {
        "mean": round(float(np.mean([v.score for v in verdicts])), 4),
        "entails": proportion(entailed, len(verdicts)),
    }


def findings(
    proposer: Proposer,
    examples: Sequence[Example],
    source: PairSource,
    predict: Callable[[list[str]], NDArray[np.float64]],
    gate: EntailmentFilter,
) -> dict[str, Any]:
    """What the sweep of ``rif audit`` finds with a proposer: induced rate and findings per 1,000 NLI rows.

    The induced rate counts pairs: of those that are robust and fair without edits, the share that edits bring
    into at least one of the three targets. ``gate`` must be fresh: its rows are counted, those that a store
    answers like the others.
    """
    engine = VictimEngine(predict, output="probabilities", batch_size=64)
    records = [record for found in Sweep(engine, source, proposer, gate).run(examples) for record in found]
    rows = gate.rows + gate.stored_hits
    return induced(records) | {
        "victim_rows": engine.rows,
        "nli_rows": rows,
        "findings_per_1000_nli_rows": round(1000 * _n_induced(records) / max(1, rows), 3),
    }


def induced(records: Sequence[Record]) -> dict[str, Any]:
    """Induced rates by pair and by target."""
    clean: set[tuple[str, str]] = set()
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for record in records:
        if record.is_evaluated and record.clean_outcome == "robust_fair":
            pair = (record.example, record.similar)
            clean.add(pair)
            if record.status == "induced":
                found[record.target].add(pair)
    pairs = set().union(*found.values()) if found else set()
    edits = [len(record.edits) for record in records if record.status == "induced"]
    return {
        "pairs": len(clean),
        "induced": proportion(len(pairs), len(clean)),
        "by_target": {name: proportion(len(found[name]), len(clean)) for name in sorted(found)},
        "findings": _n_induced(records),
        "mean_edits": round(float(np.mean(edits)), 3) if edits else None,
    }


def _n_induced(records: Sequence[Record]) -> int:
    return sum(record.status == "induced" for record in records)
