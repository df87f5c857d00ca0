"""The parts of the search benchmark, on victims whose answers are known by heart."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "sst2_victims"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

from search_lab import figures, growth, running  # noqa: E402
from search_lab.authors import AuthorsProcedure  # noqa: E402
from search_lab.cases import Case, cases, editable_alignment  # noqa: E402
from search_lab.contenders import TARGET_NAMES, ContenderResult, Finding, PairResult  # noqa: E402
from search_lab.host_greedy import Reached, finding  # noqa: E402
from search_lab.metering import (  # noqa: E402
    MeteredProposer,
    MeteredScorer,
    MeteredVictim,
    Workbench,
    clock,
)
from search_lab.ours import PairSearch, SweepSearch  # noqa: E402
from search_lab.page import page  # noqa: E402
from search_lab.victims import TfidfSoftmax, Victim  # noqa: E402
from sst2_victims.bold import read_bold  # noqa: E402

from rif_plugins.core.outcomes import Outcome  # noqa: E402
from rif_plugins.core.pairs import Pair  # noqa: E402
from rif_plugins.entailment import EntailmentFilter  # noqa: E402
from rif_plugins.proposers import Candidate, TokenContext  # noqa: E402
from rif_plugins.similar import Lexicon  # noqa: E402

WEIGHTS = {"good": 1.0, "fine": 0.4, "nice": 0.8, "poor": -2.0, "bland": -1.5, "she": -0.3}
SYNONYMS = {"good": ("fine", "poor"), "film": ("movie",), "sharp": ("bland",)}


def victim(texts: Sequence[str]) -> np.ndarray:
    """A linear model: a weight a word; P(positive) is its sigmoid."""
    margins = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.split()) for text in texts])
    positive = 1 / (1 + np.exp(-margins))
    return np.stack([1 - positive, positive], axis=1)


class Synonyms:
    """A proposer with three words."""

    name = "table"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [tuple(Candidate(w, self.name) for w in SYNONYMS.get(c.token, ())) for c in contexts]


class Judge:
    """A scorer that lets everything pass but one word."""

    name = "judge"
    version = "1"

    def __init__(self, refused: str = "") -> None:
        self.refused = refused
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked += pairs
        bad = [bool(self.refused) and self.refused in " ".join(pair).split() for pair in pairs]
        return np.array([[0.1, 0.9, 0.0] if is_bad else [1.0, 0.0, 0.0] for is_bad in bad])


def bench(scorer: Judge | None = None, *, notes: bool = False) -> Workbench:
    metered = None if scorer is None else MeteredScorer(scorer)
    return Workbench(
        MeteredVictim(victim),
        MeteredProposer(Synonyms(), notes=notes),
        None if metered is None else EntailmentFilter(metered, veto=None),
        metered,
        Lexicon.load(),
    )


def case(text: str, label: int = 1) -> Case:
    (found,) = cases("toy", [(text, label)])
    return found


TEXT = "he saw a good film there"


def test_pairs_are_made_of_the_gender_tokens_and_leave_them_alone() -> None:
    found = case(TEXT)
    assert found.pair.similar == "she saw a good film there"
    alignment = editable_alignment(found.pair, Lexicon.load())
    assert [found.pair.similar[s.start : s.end] for s in alignment.similar] == TEXT.split()[1:]
    assert cases("toy", [("a good film", 1)]) == ()


def test_the_authors_pay_for_both_sides_and_every_target_and_remember_nothing() -> None:
    stage = bench()
    (result,) = AuthorsProcedure(stage).search([case(TEXT)])
    # Five common tokens: 2 clean rows and 2 x 5 deletions a target. Then "good" with its two candidates on
    # both sides: 4 rows, enough for a target. For unrobust_biased the deletion of "good" ranks last, as it
    # hurts the similar side more, so that "film" and its one candidate come before: 2 rows.
    rows = [result.findings[target].victim_rows for target in TARGET_NAMES]
    assert rows == [2 + 10 + 4, 2 + 10 + 4, 2 + 10 + 2 + 4]
    assert result.victim_rows == stage.victim.rows == sum(rows)
    assert len(stage.victim.texts) == 2 + 10 + 2 + 4
    assert stage.victim.calls == 6 + 6 + 8
    assert result.clean is Outcome.ROBUST_FAIR
    assert result.findings["robust_biased"].texts == (
        "he saw a fine film there",
        "she saw a poor film there",
    )
    assert result.findings["unrobust_fair"].texts == tuple(
        f"{who} saw a poor film there" for who in ("he", "she")
    )
    assert all(result.is_induced(target) for target in TARGET_NAMES)


def test_the_authors_stop_at_a_natural_violation() -> None:
    (result,) = AuthorsProcedure(bench()).search([case("he saw a poor film there")])
    assert result.clean is Outcome.UNROBUST_FAIR
    assert result.is_natural("unrobust_fair") and not result.is_induced("unrobust_fair")
    assert result.findings["unrobust_fair"].victim_rows == 2
    assert result.findings["unrobust_fair"].n_edits == (0, 0)


def test_the_table_judges_a_candidate_once_for_both_sides_and_all_targets() -> None:
    scorer = Judge(refused="poor")
    (result,) = AuthorsProcedure(bench(scorer)).search([case(TEXT)])
    assert result.nli_rows == len(scorer.asked) == 2 * 3  # fine, poor, movie
    assert not any(result.findings[target].found for target in TARGET_NAMES)


def test_a_table_verdict_does_not_see_the_other_side_but_the_text_filter_does() -> None:
    scorer = Judge(refused="she")  # refuses every edit of the similar side
    table = AuthorsProcedure(bench(scorer)).search([case(TEXT)])[0]
    text = AuthorsProcedure(bench(scorer), "text").search([case(TEXT)])[0]
    assert table.findings["robust_biased"].found and not text.findings["robust_biased"].found
    result = ContenderResult("authors", [table])
    judge = EntailmentFilter(scorer, veto=None)
    verdicts = figures.audit(result, victim, judge)
    assert verdicts["toy-0", "robust_biased"] == "inadmissible"
    assert figures.counted(result, verdicts)["targets"]["robust_biased"]["success"]["successes"] == 0


@pytest.mark.parametrize("text", [TEXT, "he saw a poor film there", "the sharp girl saw a good film"])
def test_all_searches_of_ours_agree_with_the_authors_on_small_texts(text: str) -> None:
    found = case(text)
    expected = AuthorsProcedure(bench()).search([found])[0]
    for search in (PairSearch(bench(), "shared"), SweepSearch(bench())):
        (result,) = search.search([found])
        assert result.clean is expected.clean
        assert {t: result.findings[t].found for t in TARGET_NAMES} == {
            t: expected.findings[t].found for t in TARGET_NAMES
        }
        verdicts = figures.audit(ContenderResult(search.name, [result]), victim, None)
        assert set(verdicts.values()) <= {"valid"}


def test_coupled_edits_cannot_part_two_sides_that_react_alike() -> None:
    (coupled,) = PairSearch(bench(), "coupled").search([case("he saw a sharp film there", 1)])
    (shared,) = PairSearch(bench(), "shared").search([case("he saw a good film there", 1)])
    assert shared.findings["robust_biased"].found
    assert coupled.findings["unrobust_fair"].n_edits in ((0, 0), (1, 1))


def test_edits_are_noted_for_the_eager_filter() -> None:
    stage = bench(notes=True)
    SweepSearch(stage).search([case(TEXT)])
    assert stage.proposer.edits is not None
    assert len(stage.proposer.edits) == 2 * 3  # three candidates on each side


def test_the_sweep_keeps_several_pairs_of_one_row_apart() -> None:
    first = case(TEXT)
    other = Case("toy-1", first.example, Pair(TEXT, TEXT + " ", first.pair.swaps, "gender"), 1)
    results = SweepSearch(bench()).search([first, other])
    assert [result.case.name for result in results] == ["toy-0", "toy-1"]
    assert results[0].victim_rows and results[1].victim_rows == 0


def test_audit_tells_a_claim_that_the_victim_does_not_repeat() -> None:
    found = case(TEXT)
    claim = Finding(True, (found.pair.original, found.pair.similar))
    nothing = Finding(False, claim.texts)
    pair = PairResult(
        found, Outcome.ROBUST_FAIR, {**dict.fromkeys(TARGET_NAMES, nothing), "robust_biased": claim}
    )
    assert figures.audit(ContenderResult("x", [pair]), victim, None) == {
        ("toy-0", "robust_biased"): "unconfirmed"
    }


def test_the_host_reads_a_pair_from_what_both_sides_reached() -> None:
    right, wrong, other = Reached(0, "a", 0), Reached(1, "b", 2), Reached(2, "c", 1)
    assert finding(0, Outcome.ROBUST_BIASED, [right], [right, wrong]).texts == ("a", "b")
    assert finding(0, Outcome.UNROBUST_FAIR, [right, wrong], [right, wrong]).n_edits == (2, 2)
    assert not finding(0, Outcome.UNROBUST_FAIR, [right, wrong], [right, other]).found
    # Both wrong, but not alike, costs more edits than leaving the similar side right.
    assert finding(0, Outcome.UNROBUST_BIASED, [right, wrong], [right, other]).n_edits == (2, 0)


def test_ratio_of_successes() -> None:
    result = figures.ratio([True] * 6 + [False] * 4, [True] * 3 + [False] * 7)
    assert (result["value"], result["decoupled"], result["coupled"]) == (2.0, 6, 3)
    assert 1.0 <= result["low"] < 2.0 and (result["high"] is None or result["high"] > 2.0)
    assert figures.ratio([True, False], [False, False])["value"] is None
    same = figures.ratio([True] * 40, [True] * 40)
    assert (same["value"], same["low"], same["high"]) == (1.0, 1.0, 1.0)


def test_pairs_that_only_the_other_found_are_listed() -> None:
    ours = {("p1", "robust_biased"): "valid", ("p2", "robust_biased"): "unconfirmed"}
    other = {(p, "robust_biased"): "valid" for p in ("p1", "p2", "p3")}
    assert figures.lost(ours, other, {"p1", "p2"}) == [{"pair": "p2", "target": "robust_biased"}]


def test_known_answers_save_the_model_but_are_counted() -> None:
    scorer = Judge()
    known: dict[Any, Any] = {}
    for _ in range(2):
        metered = MeteredScorer(scorer, known)
        metered.probabilities([("a", "b"), ("b", "a")])
        assert metered.rows == 2
    assert len(scorer.asked) == 2


def test_the_clock_sees_memory_that_is_given_back() -> None:
    with clock() as measured:
        block = np.ones(60 * 2**17)  # 60 MB
        del block
    assert measured.seconds > 0
    assert measured.growth_mb is None or measured.growth_mb > 40


def test_bold_is_split_by_text_and_ambiguous_sentences_are_left_out(tmp_path: Path) -> None:
    groups = {
        "b_group": {"x": [f"sentence number {i}" for i in range(60)], "y": ["in both", " "]},
        "a_group": {"z": ["in  both", "alone here"]},
    }
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "profession_wiki.json").write_text(json.dumps(groups), encoding="utf-8")
    splits, names = read_bold(tmp_path)
    assert names == ("a group", "b group")
    texts = [*splits["train"][0], *splits["test"][0]]
    assert len(texts) == len(set(texts)) == 61 and "in both" not in texts
    assert min(len(splits[name][0]) for name in splits) > 15
    labels = dict(zip(texts, [*splits["train"][1], *splits["test"][1]], strict=True))
    assert labels["alone here"] == 0 and labels["sentence number 7"] == 1
    with pytest.raises(SystemExit, match=r"no profession_wiki\.json"):
        read_bold(folder / "nothing")


def test_generated_examples_are_distinct_and_repeatable() -> None:
    first = list(growth.examples(300, seed=3))
    assert first == list(growth.examples(300, seed=3)) != list(growth.examples(300, seed=4))
    assert len({example.text for example in first}) == 300
    assert {example.label for example in first} == {0, 1}
    growth.check_distinct(40)


def test_growth_is_compared_with_the_first_size() -> None:
    runs = [
        {"examples": n, "rows_per_example": r, "ms_per_example": 2.0, "cpu_ms_per_example": 2.0, "peak_mb": m}
        for n, r, m in ((100, 50.0, 200.0), (1000, 51.0, 203.5))
    ]
    assert growth.compared(runs)[1] == {
        "examples": 1000,
        "rows_ratio": 1.02,
        "seconds_ratio": 1.0,
        "cpu_seconds_ratio": 1.0,
        "more_mb": 3.5,
    }


def test_the_multinomial_victim_agrees_with_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = [
        "red apple pie",
        "red apple tart",
        "blue sea air",
        "blue sea wind",
        "old iron gate",
        "old iron door",
    ]
    labels = [0, 0, 1, 1, 2, 2]
    model = TfidfSoftmax.fit(texts, labels)
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    classifier = LogisticRegression(C=4.0, max_iter=1000).fit(vectoriser.fit_transform(texts), labels)
    asked = [*texts, "red sea gate", "nothing known", "apple apple blue"]
    expected = classifier.predict_proba(vectoriser.transform(asked))
    np.testing.assert_allclose(model(asked), expected, atol=1e-9)


def test_the_cnn_answers_the_same_in_any_batch_and_after_saving(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from sst2_victims.cnn import WordCNN, _Network

    torch.manual_seed(0)
    network = _Network(n_words=7, n_labels=3, dimension=4, n_filters=5)
    model = WordCNN(["a", "b", "c", "d", "e"], network)
    texts = ["a", "a b c d e a b c d e", "", "e d unknown c"]
    together = model(texts)
    alone = np.concatenate([model([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(together.sum(axis=1), 1.0)
    model.save(tmp_path / "cnn.npz")
    np.testing.assert_array_equal(WordCNN.load(tmp_path / "cnn.npz")(texts), together)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("search_benchmark", BENCHMARKS / "search.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_of(script: ModuleType, block: dict[str, Any]) -> str:
    settings: dict[str, Any] = dict.fromkeys(("timed_pairs", "host_pairs", "repeats", "threads"), 2)
    settings |= {"max_candidates": 12, "min_equivalence": 0.8}
    origin = script.provenance("benchmarks/search.py")
    return page({"provenance": origin, "settings": settings, "blocks": [block]})


def test_one_block_from_the_pairs_to_the_page(script: ModuleType) -> None:
    from search_lab.cases import DataSet

    rows = [("he saw a good film there", 1), ("she told a fine story", 1), ("a poor man found her poor", 0)]
    data = DataSet("toy", "three sentences", ("negative", "positive"), cases("toy", rows))
    toy = Victim("linear", "a weight a word", victim, lambda: victim)
    names = ["authors", "shared", "sweep", "coupled"]
    args = argparse.Namespace(contenders=names, pairs=3, host_pairs=1, timed_pairs=2, repeats=2)
    made = script.Block(args, data, running.Stage(toy, None))
    made.count()
    assert "| seconds a pair | – |" in page_of(script, made.report)
    made.time()
    block = made.report
    assert list(block["contenders"]) == names
    for name in names:
        contender = block["contenders"][name]
        assert contender["counts"]["pairs"] == len(contender["pairs"]) == 3
        assert contender["timing"]["repeats"] == 2 and contender["timing"]["same_counts"]
        assert sum(contender["counts"]["clean"].values()) == 3
    assert set(block["comparisons"]["ratios"]) == {"shared / coupled", "sweep / coupled"}
    text = page_of(script, block)
    assert "## toy, linear, no filter" in text and "| **robust_biased** |" in text
    assert "sweep against authors" in text and "NLI rows" not in text
    json.dumps(block)


def test_every_contender_is_explained_and_absent_data_are_named(script: ModuleType) -> None:
    from search_lab.page import EXPLANATION

    assert [name for name in running.CONTENDERS if f"`{name}`" not in EXPLANATION] == []
    with pytest.raises(SystemExit):
        script.parse(["--data", "bold"])
