from __future__ import annotations

from collections import Counter

import pytest

from rif_plugins.errors import DataError
from rif_plugins.examples import load_examples
from rif_plugins.examples.sentences import DATA_FILE
from rif_plugins.similar import Lexicon, find_spans, similar_texts
from rif_plugins.victims import EmbeddedVictim

ATTRIBUTES = {"gender", "race", "religion", "nationality", "age", "orientation", "disability"}
EXAMPLES = load_examples()


def test_enough_of_both_labels() -> None:
    counts = Counter(example.label for example in EXAMPLES)
    assert set(counts) == {0, 1}
    assert counts[0] >= 150
    assert counts[1] >= 50


def test_ids_are_unique_and_say_the_label() -> None:
    assert len({example.id for example in EXAMPLES}) == len(EXAMPLES)
    assert all(example.id[0] == "no"[example.label] for example in EXAMPLES)


def test_texts_are_distinct_clean_sentences_of_6_to_30_words() -> None:
    assert len({example.text.casefold() for example in EXAMPLES}) == len(EXAMPLES)
    for example in EXAMPLES:
        assert 6 <= len(example.text.split()) <= 30, example
        assert example.text == " ".join(example.text.split()), example
        assert example.text[0].isupper() and example.text[-1] in ".?!", example


@pytest.mark.parametrize("label", [0, 1])
def test_every_attribute_occurs(label: int) -> None:
    counts = Counter(a for example in EXAMPLES if example.label == label for a in example.attributes)
    assert set(counts) == ATTRIBUTES
    assert min(counts.values()) >= (10, 3)[label]


def test_short_descriptions_come_first_and_any_prefix_holds_both_labels() -> None:
    is_profile = [example.domain == "profile" for example in EXAMPLES]
    assert is_profile == sorted(is_profile, reverse=True)
    for n in range(10, len(EXAMPLES) + 1):
        assert 0.08 <= sum(example.label for example in EXAMPLES[:n]) / n <= 0.3


def test_the_embedded_victim_is_mostly_but_not_always_right() -> None:
    predicted = EmbeddedVictim()([example.text for example in EXAMPLES]).argmax(axis=1)
    wrong = sum(int(p) != example.label for p, example in zip(predicted, EXAMPLES, strict=True))
    assert wrong == 24  # the labels follow the sentences, not the victim


def test_the_page_beside_the_data_tells_the_figures() -> None:
    page = " ".join(DATA_FILE.with_name("README.md").read_text(encoding="utf-8").split())
    right = EmbeddedVictim()([e.text for e in EXAMPLES]).argmax(axis=1) == [e.label for e in EXAMPLES]

    def share(keep) -> str:
        chosen = [ok for ok, example in zip(right, EXAMPLES, strict=True) if keep(example)]
        return f"{100 * sum(chosen) / len(chosen):.1f} %"

    assert f"{len(EXAMPLES)} English sentences" in page
    assert (
        f"right on {share(lambda e: True)} (neutral {share(lambda e: e.label == 0)}, "
        f"offensive {share(lambda e: e.label == 1)}; `profile` {share(lambda e: e.domain == 'profile')}, "
        f"all others {share(lambda e: e.domain != 'profile')})"
    ) in page


def test_licence_stands_beside_the_data() -> None:
    assert "CC0 1.0" in DATA_FILE.with_name("LICENSE.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"id": "n1"}',
        '{"id": "n1", "text": "a", "label": 0, "attributes": [], "domain": "", "more": 1}',
    ],
)
def test_broken_line_is_named(tmp_path, line: str) -> None:
    path = tmp_path / "examples.jsonl"
    first = DATA_FILE.read_text(encoding="utf-8").splitlines()[0]
    path.write_text(f"{first}\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"examples\.jsonl, line 2: expected an example"):
        load_examples(path)


def test_the_embedded_lexicon_finds_nothing_that_is_not_noted() -> None:
    lexicon = Lexicon.load()
    for example in EXAMPLES:
        found = {span.attribute for span in find_spans(example.text, lexicon)}
        assert found <= set(example.attributes), example


def test_nearly_every_sentence_has_a_similar_individual() -> None:
    lexicon = Lexicon.load()
    with_pairs = [example for example in EXAMPLES if similar_texts(example.text, lexicon, max_counterparts=1)]
    assert len(with_pairs) >= 0.9 * len(EXAMPLES)
