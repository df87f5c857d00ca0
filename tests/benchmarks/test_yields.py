"""What a proposer yields, with a filter and a victim whose answers are known."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rif_plugins.entailment import EntailmentFilter
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.similar import Lexicon, PairSource

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from edit_lab import yields
from edit_lab.equivalent_pairs import (
    NEAR_SYNONYMS,
    WordPair,
    form_key,
    judged,
    judged_forms,
    log_odds,
    near_synonyms,
    table_lines,
)
from edit_lab.evidence import Prior, Trial, lines, places, posterior_share, refined, trials

from rif_plugins.proposers.equivalents import Equivalent, Equivalents, read_equivalents

LEXICON = Lexicon.load()


class Fixed:
    name = "fixed"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        texts = {"good": (("fine", "a"), ("bad", "b")), "film": (("movie", "a"),)}
        return [tuple(Candidate(*item) for item in texts.get(context.token, ())) for context in contexts]


class ByWord:
    """Entailment unless a word of ``refused`` stands in one of the texts."""

    name, version = "by-word", "1"

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        good = [self.refused.isdisjoint(f"{a} {b}".split()) for a, b in pairs]
        return np.array([[0.95, 0.05, 0.0] if ok else [0.1, 0.1, 0.8] for ok in good])


def predict(texts: list[str]) -> NDArray[np.float64]:
    """*movie* and *she* together turn the label, neither alone does."""
    ones = [0.8 - 0.25 * ("movie" in text.split()) - 0.1 * ("she" in text.split()) for text in texts]
    return np.array([[1 - p, p] for p in ones])


def test_shares_by_source_and_token() -> None:
    gate = EntailmentFilter(ByWord("bad"), veto=None)
    found = yields.accepted_share(Fixed(), ["he made a good film", "a good man"], LEXICON, gate)
    # Editable: made a good film; a good ("he" and "man" are sensitive).
    assert (found["tokens"], found["candidates"], found["tokens_with_candidates"]) == (6, 5, 3)
    assert (found["accepted"]["successes"], found["accepted"]["total"]) == (3, 5)
    assert found["accepted_per_token"] == 0.5
    assert {name: share["value"] for name, share in found["sources"].items()} == {"a": 1.0, "b": 0.0}
    assert "second_model" not in found


def test_a_second_model_judges_what_was_accepted() -> None:
    gate = EntailmentFilter(ByWord("bad"), veto=None)
    found = yields.accepted_share(Fixed(), ["a good film"], LEXICON, gate, second=ByWord("movie"))
    assert found["second_model"]["entails"]["value"] == 0.5
    assert found["second_model"]["mean"] == pytest.approx((0.95**2 + 0.01) / 2, abs=1e-4)


def test_a_sample_is_as_large_as_asked_and_the_same_again() -> None:
    texts = [f"a good film number {word}" for word in ("ten", "six", "two")]
    both = [
        yields.accepted_share(Fixed(), texts, LEXICON, EntailmentFilter(ByWord(), veto=None), most=4)
        for _ in range(2)
    ]
    assert both[0] == both[1]
    assert (both[0]["judged"], both[0]["candidates"]) == (4, 9)


def test_induced_rate_and_findings_per_row() -> None:
    gate = EntailmentFilter(ByWord(), veto=None)
    source = PairSource(LEXICON, ("gender",), 8, 0)
    examples = [Example("1", "he saw the film", 1), Example("2", "he saw the sea", 1)]
    found = yields.findings(Fixed(), examples, source, predict, gate)
    assert (found["pairs"], found["induced"]["successes"]) == (2, 1)
    assert found["findings"] >= 1 and found["nli_rows"] == gate.rows > 0
    assert found["findings_per_1000_nli_rows"] == pytest.approx(
        1000 * found["findings"] / gate.rows, abs=1e-3
    )
    assert set(found["by_target"]) == {"robust_biased"}


def test_the_list_written_by_hand_has_pairs_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "near.txt"
    path.write_text("# c\nn film, movie, motion picture\nn man, woman\n", encoding="utf-8")
    assert near_synonyms(lambda word: False, path) == [
        WordPair("n", "film", "movie"),
        WordPair("n", "film", "motion_picture"),
        WordPair("n", "movie", "film"),
        WordPair("n", "movie", "motion_picture"),
    ]
    for line in NEAR_SYNONYMS.read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or (line[0] in "nvar" and line[1] == " " and "," in line), line


def test_pairs_are_judged_in_stages_and_form_by_form() -> None:
    pairs = [WordPair("n", "film", "movie"), WordPair("n", "movie", "film"), WordPair("n", "good", "bad")]
    strict = [WordPair("v", "buy", "purchase"), WordPair("v", "buy", "sell")]
    scorer = ByWord("purchases", "sell")
    first = judged(pairs, strict, scorer, lambda message: None)
    # The veto knows "good" and "bad"; the model refuses "sell"; a pair is judged once for both directions.
    assert sorted(first) == [("n", "film", "movie"), ("v", "buy", "purchase")]
    assert all(found == pytest.approx([0.95**2] * 2) for found in first.values())
    keys = [
        form_key(key, tag) for key in first for tag in (("NN", "NNS") if key[0] == "n" else ("VB", "VBZ"))
    ]
    assert None not in keys
    forms = judged_forms([key for key in keys if key], scorer, lambda message: None)
    lines = table_lines(pairs, strict, first, forms, lambda odds: 1 / (1 + np.exp(-odds)), 0.5)
    assert lines == [
        "NN\tfilm\tmovie=90",
        "NN\tmovie\tfilm=90",
        "NNS\tfilm\tmovies=90".replace("movies", "movie"),
        "NNS\tmovie\tfilm=90",
        "VB\tbuy\tpurchase*=90",
    ]


def test_log_odds_are_cut() -> None:
    assert log_odds([0.0, 0.5, 1.0]) == pytest.approx([-np.log(999), 0, np.log(999)])
    assert form_key(("v", "buy", "purchase"), "VBD") == ("v", "bought", "purchased")
    assert form_key(("n", "fish", "fish"), "NNS") is None


WIDE = Equivalents({
    ("NN", "film"): (Equivalent("movie", 0.8, True), Equivalent("picture", 0.0, False)),
    ("NN", "story"): (Equivalent("tale", 0.8, False),),
})  # fmt: skip


def test_places_of_every_row_and_their_trials() -> None:
    texts = ["the film ends", "the long story of a film", "she saw the film " + "again " * 30]
    found = places(texts, WIDE, LEXICON)
    # The third text is too long.
    assert {(key[1], key[2]): len(each) for key, each in found.items()} == {
        ("film", "movie"): 2,
        ("film", "picture"): 2,
        ("story", "tale"): 1,
    }
    gate = EntailmentFilter(ByWord("picture"), veto=None)
    told: list[str] = []
    judged = trials(found, lambda key: key[2] == "picture", gate, told.append)
    # One place is too few for a row, two are for one that is new.
    assert {key[1:]: len(each) for key, each in judged.items()} == {("film", "movie"): 2}
    assert all(trial.passed for each in judged.values() for trial in each)
    assert sorted(trial.n_words for each in judged.values() for trial in each) == [3, 6]
    assert told == ["2 of 2 edits"]


def test_trials_move_a_share_and_new_rows_need_them(tmp_path: Path) -> None:
    rows = {("NN", "film"): (Equivalent("movie", 0.6, True), Equivalent("flick", 0.6, False))}
    good, bad = [Trial(True, 20)] * 8, [Trial(False, 20)] * 8
    judged = {
        (("NN",), "film", "movie"): good,
        (("NN",), "film", "flick"): bad,
        (("NN",), "story", "tale"): good,
        (("VB", "VBP"), "see", "view"): good,
        (("NN",), "story", "yarn"): bad,
    }
    priors = (Prior(0.0, 1.0), Prior(-2.5, 1.5))
    made = refined(rows, judged, lambda tag, lemma, other: other == "tale", priors, 0.4)
    assert [(e.lemma, e.is_strict) for e in made["NN", "film"]] == [("movie", True)]
    assert made["NN", "film"][0].share > 0.8
    assert [(e.lemma, e.is_strict) for e in made["NN", "story"]] == [("tale", True)]
    assert set(made) == {("NN", "film"), ("NN", "story"), ("VB", "see")}
    path = tmp_path / "t.tsv"
    path.write_text("\n".join(lines(made)), encoding="utf-8")
    assert read_equivalents(path) == made


def test_a_share_without_trials_is_that_of_its_prior() -> None:
    prior = Prior(0.0, 1.0)
    assert posterior_share(prior, []) == pytest.approx(0.5)
    passed = posterior_share(prior, [Trial(True, 20)])
    assert passed > 0.5 and posterior_share(prior, [Trial(False, 20)]) == pytest.approx(1 - passed)
    # To pass in a long sentence says more than in a short one.
    assert posterior_share(prior, [Trial(True, 40)]) > passed
