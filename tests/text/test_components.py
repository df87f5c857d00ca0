from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
from fakes.proposing_server import proposing
from fakes.text_world import ScriptedScorer, TableWords
from hypothesis import given, settings
from hypothesis import strategies as st
from textattack.augmentation import Augmenter
from textattack.shared import AttackedText

from rif_plugins.core.pairs import Span
from rif_plugins.errors import UsageError
from rif_plugins.proposers.asking import ProposerWarning
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon
from rif_plugins.text.constraints import BidirectionalEntailment, SensitiveTokenProtection
from rif_plugins.text.pairing import (
    PairSource,
    is_pair_text,
    pair_text,
    rewritten,
    side_strings,
    word_offsets,
)
from rif_plugins.text.transformations import ProposedWordSwap, SensitiveTokenMask, SensitiveTokenSwap


def transform(transformation, text: AttackedText, **options) -> list[str]:
    return [new.text for new in transformation(text, **options)]


def test_proposed_swap_edits_each_column_in_its_own_sentence() -> None:
    text = pair_text("He had a good meal.", "She had a good meal.")
    new = ProposedWordSwap(TableWords())(text)
    assert all(is_pair_text(t) for t in new)
    assert [side_strings(t) for t in new][:3] == [
        ("He had a fine meal.", "She had a good meal."),
        ("He had a decent meal.", "She had a good meal."),
        ("He had a great meal.", "She had a good meal."),
    ]
    assert len(new) == 10


def test_wordnet_is_the_default_proposer_and_keeps_sensitive_tokens() -> None:
    texts = transform(ProposedWordSwap(), AttackedText("The doctor helped his mother."))
    assert "The physician helped his mother." in texts
    assert all("his mother" in text for text in texts)


TWO = "He had a good meal. The supper was awful."


def test_a_language_model_keeps_to_the_settings_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with proposing(monkeypatch, tmp_path, seed="3", llm_temperature="0.2") as server:
        swap = ProposedWordSwap("llm:m", max_candidates=2)
        first = transform(swap, AttackedText(TWO))
        assert "He had a fine meal. The supper was awful." in first
        assert all("great" not in text for text in first)
        assert [body["temperature"] for body in server.bodies] == [0.2, 0.2]
        # The answers of the first are stored, also for one that may ask nothing.
        swap.proposer.proposer._store.close()  # type: ignore[attr-defined]
        none_left = Settings(seed=3, llm_temperature=0.2, max_llm_calls=0)
        again = ProposedWordSwap("llm:m", max_candidates=2, settings=none_left)
        assert transform(again, AttackedText(TWO)) == first
        assert len(server.bodies) == 2
        other = ProposedWordSwap("llm:m", settings=Settings(seed=4, llm_temperature=0.2))
        transform(other, AttackedText(TWO))
        asked = {body["seed"] for body in server.bodies}
        assert len(server.bodies) == len(asked) == 4


def test_the_limit_of_calls_holds_for_a_language_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with proposing(monkeypatch, tmp_path, max_llm_calls="1", cache="off", proposer="llm:m") as server:
        swap = ProposedWordSwap()
        with pytest.warns(ProposerWarning, match="the 1 calls of the run are used up"):
            texts = transform(swap, AttackedText(TWO))
        assert transform(swap, AttackedText("The soup was good.")) == []
        assert len(server.bodies) == 1
    assert texts and all("awful" in text for text in texts)


def test_keywords_of_a_recipe_reach_its_language_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fakes.text_world import KeywordWrapper

    from rif_plugins.text.recipes import RIFairRobustBiased

    with proposing(monkeypatch, tmp_path, cache="off") as server:
        attack = RIFairRobustBiased.build(
            KeywordWrapper(), proposer="llm:m", max_llm_calls=1, llm_temperature=0.3, entailment="none"
        )
        with pytest.warns(ProposerWarning, match="the 1 calls of the run are used up"):
            transform(attack.transformation, AttackedText(TWO))
    assert [body["temperature"] for body in server.bodies] == [0.3]


def test_swap_gives_the_similar_texts_and_keeps_attributes() -> None:
    text = AttackedText("A man and his son ran.")
    (new,) = SensitiveTokenSwap(attributes=["gender"])(text)
    assert new.text == "A woman and her daughter ran."
    assert new.attack_attrs["modified_indices"] == {1, 3, 4}
    assert list(new.attack_attrs["original_index_map"]) == list(range(6))
    # Not allowed to touch one of the swapped words: no half-swapped text.
    assert transform(SensitiveTokenSwap(attributes=["gender"]), text, indices_to_modify={1}) == []


def test_mask_is_the_same_for_both_sides() -> None:
    mask = SensitiveTokenMask(attributes=["gender"])
    (a,) = transform(mask, AttackedText("He is an actor."))
    (b,) = transform(mask, AttackedText("She is an actress."))
    assert a == b


def test_swap_works_as_augmentation() -> None:
    augmenter = Augmenter(
        transformation=SensitiveTokenSwap(attributes=["gender"]),
        pct_words_to_swap=0.1,
        transformations_per_example=1,
    )
    assert augmenter.augment("He ran home.") == ["She ran home."]


def test_protection_covers_both_columns() -> None:
    text = pair_text("He ran to a gay bar.", "She ran to a gay bar.")
    allowed = SensitiveTokenProtection()(text, ProposedWordSwap(TableWords()))
    assert [text.words[i] for i in sorted(allowed)] == ["ran", "to", "a", "bar", "ran", "to", "a", "bar"]


def test_entailment_judges_every_column_against_its_own_original() -> None:
    constraint = BidirectionalEntailment(ScriptedScorer(["awful"]))
    reference = pair_text("He ate well.", "She ate well.")
    candidates = [
        pair_text("He dined well.", "She ate well."),
        pair_text("He dined well.", "She dined awful."),
        pair_text("He ate well.", "She ate well."),
    ]
    for candidate in candidates:
        candidate.attack_attrs["last_transformation"] = ProposedWordSwap(TableWords())
    assert constraint.call_many(candidates, reference) == [candidates[0], candidates[2]]
    assert constraint(candidates[0], reference)
    assert not constraint(candidates[1], reference)


def test_no_filter_admits_everything() -> None:
    constraint = BidirectionalEntailment("none")
    assert constraint.n_rows == 0
    assert constraint.scorer_name == "none"
    assert constraint.verdicts("a", ["b"]) == []  # nothing was measured, so nothing is reported
    text = AttackedText("He ate well.")
    other = AttackedText("He ate badly.")
    other.attack_attrs["last_transformation"] = ProposedWordSwap(TableWords())
    assert constraint.call_many([other], text) == [other]


@given(st.text(alphabet="ab '-,.I<SPLIT>", max_size=30))
@settings(deadline=None)
def test_word_offsets_point_at_the_words(text: str) -> None:
    attacked = AttackedText(OrderedDict(original=text, similar=text + " end"))
    columns = list(attacked.tokenizer_input)
    offsets = word_offsets(attacked)
    assert [columns[c][s.start : s.end] for c, s in offsets] == attacked.words


def test_rewritten_maps_words_of_another_length() -> None:
    text = AttackedText("the old man slept well")
    new = rewritten(text, ["the person of age slept well"])
    index_map = list(new.attack_attrs["original_index_map"])
    assert new.words[index_map[3]] == "slept"
    assert new.words[index_map[4]] == "well"
    assert Span(0, 3) in [span for _, span in word_offsets(new)]


def test_pair_source_checks_its_attributes() -> None:
    with pytest.raises(
        UsageError, match="sensitive attribute 'wealth' is not in the lexicon: expected some of"
    ):
        PairSource(attributes=["wealth"])
    source = PairSource(Lexicon.load(), ["gender"], max_counterparts=1)
    assert [pair.similar for pair in source.pairs(AttackedText("He is gay."))] == ["She is gay."]
    assert source.sensitive_spans("He is gay.") == [Span(0, 2), Span(6, 9)]
