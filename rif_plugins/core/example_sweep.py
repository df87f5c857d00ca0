"""One example, all its pairs, all targets: from the texts of I(v) to one result a pair and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from rif_plugins.core.exhaustive import MAX_TEXTS, Enumeration, enumerate_reach
from rif_plugins.core.fairness_search import search_difference
from rif_plugins.core.objective import Objective, loss
from rif_plugins.core.outcomes import FAIRNESS_ONLY, ROBUSTNESS_ONLY, TARGETS, is_in_target
from rif_plugins.core.pair_search import PairSearchResult, StopReason, TokenSaliency
from rif_plugins.core.reach import FloatArray, Path, Reach, ReachSettings, pair_result, result_of
from rif_plugins.core.reach_estimates import rival
from rif_plugins.core.reach_search import MemberSearch, search_members
from rif_plugins.core.requests import Coroutine, Score, gather
from rif_plugins.core.sides import EditableSide

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What to look for in every example.

    Attributes:
        targets: Names of targets and single-axis attacks, in the order of the records.
        settings: How to search.
        exhaustive: Enumerate all edits of at most this many tokens a side instead; None searches greedily.
        max_texts: Most texts of one member that an exhaustive search may enumerate.
        admits_all: There is no filter: an exhaustive search knows every text to be admissible.
    """

    targets: tuple[str, ...] = tuple(map(str, TARGETS))
    settings: ReachSettings = field(default_factory=ReachSettings)
    exhaustive: int | None = None
    max_texts: int = MAX_TEXTS
    admits_all: bool = False


@dataclass(frozen=True, slots=True)
class Finding(Generic[S]):
    """The result of one pair and target.

    Attributes:
        pair: Number of the similar text, from 0.
        certificate: After an exhaustive search: its size (see ``Record.certificate``).
    """

    pair: int
    target: str
    result: PairSearchResult[S]
    certificate: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExampleSweep(Generic[S]):
    """Everything found out about one example.

    Attributes:
        findings: By pair, then by target.
        reaches: Of the original and of each similar text.
        saliency: By member, then by position: the ranking score where positions had to be ranked, else
            the largest change of the clean label's log odds that a candidate is known or estimated to make.
    """

    findings: list[Finding[S]]
    reaches: list[Reach[S]]
    saliency: list[dict[int, float]]


def sweep_example(
    members: Sequence[EditableSide[S]],
    label: int,
    plan: SweepPlan,
    *,
    rng: np.random.Generator | None = None,
    token_saliency: TokenSaliency | None = None,
) -> Coroutine[ExampleSweep[S]]:
    """Search all texts of one example, and put together all pairs and targets.

    Args:
        members: The original, then the similar texts (see ``search_members``).
        label: The right label.
        plan: What to look for.
        rng: Needed by the random saliency only.
        token_saliency: Needed by the gradient saliency only.

    Raises:
        UsageError: The budget does not pay for the clean texts, or there are too many texts to enumerate.
    """
    enumerations: list[Enumeration[S]] = []
    searches: list[MemberSearch[S]] = []
    if plan.exhaustive is not None:
        enumerations = yield from gather(
            [
                enumerate_reach(m, label, plan.exhaustive, limit=plan.max_texts, admits_all=plan.admits_all)
                for m in members
            ]
        )
    if plan.exhaustive is None or FAIRNESS_ONLY in plan.targets:
        searches = yield from search_members(
            members, label, plan.settings, rng=rng, token_saliency=token_saliency
        )
    reaches = [e.reach for e in enumerations] or [search.reach for search in searches]
    gaps: list[PairSearchResult[S]] = []
    if FAIRNESS_ONLY in plan.targets:
        gaps = yield from gather([search_difference(searches[0], other, label) for other in searches[1:]])
    findings = []
    for number, similar in enumerate(reaches[1:]):
        for target in plan.targets:
            if target == FAIRNESS_ONLY:
                findings.append(Finding(number, target, gaps[number]))
                continue
            if target == ROBUSTNESS_ONLY:
                result = _flip(reaches[0], similar, label)
            else:
                result = pair_result(reaches[0], similar, label, Objective.for_target(target))
            findings.append(Finding(number, target, result, _certificate(enumerations, number, plan)))
    confirmed = yield from _confirmed(members, findings, label)
    return ExampleSweep(confirmed, reaches, [_saliency(search) for search in searches])


def _saliency(search: MemberSearch[Any]) -> dict[int, float]:
    if search.table.saliency:
        return dict(search.table.saliency)
    label = search.reach.clean.label
    scores = {}
    for position, found in search.table.by_position.items():
        effects = [c.effect for c in found if c.effect is not None]
        falls = [float(rival(effect, label) - effect[label]) for effect in effects]
        scores[position] = max(falls, default=0.0)
    return scores


def _flip(original: Reach[S], similar: Reach[S], label: int) -> PairSearchResult[S]:
    """The robustness-only attack: any wrong label of the original, the similar text as it is."""
    first: Path[S] = (original.clean,)
    reason: StopReason = original.stop
    wrong = [reached for reached in original.paths if reached != label]
    if original.clean.label != label:
        reason = "natural"
    elif wrong:
        first, reason = original.paths[min(wrong, key=original.preference)], "success"
    return result_of(first, (similar.clean,), label, reason, _negative_loss)


def _negative_loss(p: FloatArray, _: FloatArray, label: int) -> float:
    return -float(loss(p, label))


def _certificate(enumerations: Sequence[Enumeration[Any]], number: int, plan: SweepPlan) -> dict[str, int]:
    if not enumerations or plan.exhaustive is None:
        return {}
    original, similar = enumerations[0], enumerations[number + 1]
    if {original.reach.stop, similar.reach.stop} != {"certified"}:
        return {}
    return {
        "max_edits": plan.exhaustive,
        "texts_original": original.n_texts,
        "texts_similar": similar.n_texts,
        "judged": original.n_judged + similar.n_judged,
    }


def _confirmed(
    members: Sequence[EditableSide[S]], findings: list[Finding[S]], label: int
) -> Coroutine[list[Finding[S]]]:
    """Ask the victim again about every edited pair that was found.

    One that it does not repeat is dropped, and one for which the budget does not suffice.
    """
    texts: dict[str, int] = {}
    wanted: list[tuple[str, str]] = []
    for finding in findings:
        state = finding.result.state
        pair = (members[0].text(state.original), members[finding.pair + 1].text(state.similar))
        wanted.append(pair)
        if finding.result.stop_reason == "success":
            for text in pair:
                texts.setdefault(text, len(texts))
    if not texts:
        return findings
    rows = yield Score(list(texts), is_fresh=True)
    return [
        _checked(finding, pair, texts, rows, label) for finding, pair in zip(findings, wanted, strict=True)
    ]


def _checked(
    finding: Finding[S], pair: tuple[str, str], numbers: dict[str, int], rows: FloatArray, label: int
) -> Finding[S]:
    result = finding.result
    if result.stop_reason != "success":
        return finding
    places = [numbers[text] for text in pair]
    is_paid = max(places) < len(rows)
    if is_paid:
        again = replace(result.state, p=rows[places[0]], p_similar=rows[places[1]])
        if is_in_target(again.outcome(label), finding.target):
            return finding
    clean = replace(
        result,
        stop_reason="unconfirmed" if is_paid else "budget",
        state=result.clean,
        outcome=result.clean_outcome,
        trajectory=result.trajectory[:1],
    )
    return replace(finding, result=clean, certificate={})
