from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.errors import LexiconError, UsageError
from rif_plugins.similar import Lexicon, PairSource, mask, similar_texts
from rif_plugins.similar.intersections import canonical, composed, factors_of

LEX = Lexicon.load()


def joint(text: str, attribute: str) -> dict[str, str]:
    return {f"{p.value_from} -> {p.value_to}": p.similar for p in similar_texts(text, LEX, [attribute])}


def test_every_joint_value_but_the_own_is_a_member() -> None:
    assert joint("An old gay man", "age*orientation") == {
        "old×gay -> old×straight": "An old straight man",
        "old×gay -> old×bisexual": "An old bisexual man",
        "old×gay -> young×gay": "A young gay man",
        "old×gay -> young×straight": "A young straight man",
        "old×gay -> young×bisexual": "A young bisexual man",
        "old×gay -> middle_aged×gay": "A middle-aged gay man",
        "old×gay -> middle_aged×straight": "A middle-aged straight man",
        "old×gay -> middle_aged×bisexual": "A middle-aged bisexual man",
    }


def test_swaps_are_exact_with_articles_and_shared_terms() -> None:
    text = "A Latina and her old uncle"
    found = {p.value_to: p for p in similar_texts(text, LEX, ["gender × race"])}
    assert found["male×arab"] == Pair(
        text,
        "An Arab and his old aunt",
        (
            Swap(0, 1, "A", "An", 0),
            Swap(2, 8, "Latina", "Arab", 3),
            Swap(13, 16, "her", "his", 12),
            Swap(21, 26, "uncle", "aunt", 20),
        ),
        "gender×race",
        "female×hispanic",
        "male×arab",
    )
    assert found["male×hispanic"].similar == "A Latino and his old aunt"


def test_a_text_without_one_of_the_factors_has_no_member() -> None:
    assert joint("A man left.", "gender*race") == {}
    assert joint("black coffee for a man", "gender*race") == {}


def test_a_mixed_text_is_mirrored_in_each_factor() -> None:
    found = joint("A black man and a white woman", "gender*race")
    assert found["male×black -> female×white"] == "A white woman and a black man"
    assert found["male×black -> female×asian"] == "An Asian woman and a white man"


def test_members_keep_the_mask_and_take_turns_under_a_cap() -> None:
    text = "My old black aunt, a Muslim, met a Nigerian actor."
    asked = ["gender", "gender*race", "age*religion*nationality"]
    some = similar_texts(text, LEX, asked, max_counterparts=6, seed=2)
    assert some == similar_texts(text, LEX, asked, max_counterparts=6, seed=2)
    assert some != similar_texts(text, LEX, asked, max_counterparts=6, seed=3)
    assert {p.attribute for p in some} == {"gender", "gender×race", "age×religion×nationality"}
    plain = ["gender", "race", "age", "religion", "nationality"]
    assert {mask(p.similar, LEX, plain) for p in some} == {mask(text, LEX, plain)}
    assert len({p.similar for p in some}) == 6


def test_a_member_is_listed_once_under_the_first_attribute_that_gives_it() -> None:
    pairs = similar_texts("a gay man", LEX, ["gender", "gender*orientation"])
    assert [p.attribute for p in pairs] == ["gender", *["gender×orientation"] * 4]


def test_a_pair_source_takes_intersections_of_optional_lists() -> None:
    source = PairSource(attributes=["gender_names * names", "gender*race"], max_counterparts=None)
    assert source.attributes == ("gender×names", "gender×race")
    found = {(p.value_from, p.value_to): p.similar for p in source.pairs_of("Susan said she is here.")}
    assert found["female×white", "male×asian"] == "Tuan said he is here."
    assert found["female×white", "female×black"] == "Latoya said she is here."
    assert len(found) == 7


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("gender*", "expected different attributes joined by"),
        ("gender*gender", "expected different attributes joined by"),
        ("age*gender*race*religion", "has 4 attributes, expected 3 at most"),
    ],
)
def test_a_malformed_intersection_is_refused(attribute: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        similar_texts("a man", LEX, [attribute])
    with pytest.raises(UsageError, match=message):
        PairSource(attributes=[attribute])


def test_unknown_factors_are_refused() -> None:
    with pytest.raises(LexiconError, match="no attribute 'caste'"):
        similar_texts("a man", LEX, ["gender*caste"])
    with pytest.raises(UsageError, match="'caste' is not in the lexicon"):
        PairSource(attributes=["gender*caste"])
    with pytest.raises(UsageError, match="expected different attributes"):
        PairSource(attributes=["gender*gender_names"])


def test_names_of_intersections_have_one_spelling() -> None:
    assert canonical("gender * race") == canonical("gender×race") == "gender×race"
    assert factors_of(" age ") == ("age",)


WORDS = st.lists(st.sampled_from(["ab", "c", "def"]), min_size=1, max_size=6)


def rewritten(words: list[str], new: dict[int, str]) -> Pair:
    """A pair that writes other words at some places."""
    swaps, position, other, out = [], 0, 0, []
    for place, word in enumerate(words):
        written = new.get(place, word)
        if written != word:
            swaps.append(Swap(position, position + len(word), word, written, other))
        out.append(written)
        position, other = position + len(word) + 1, other + len(written) + 1
    return Pair(" ".join(words), " ".join(out), tuple(swaps), "x")


@given(WORDS, st.dictionaries(st.integers(0, 5), st.sampled_from(["x", "yyyy"])), st.data())
def test_two_rewritings_compose_to_exact_swaps(
    words: list[str], new: dict[int, str], data: st.DataObject
) -> None:
    first = rewritten(words, new)
    again = data.draw(st.dictionaries(st.integers(0, 5), st.sampled_from(["ab", "zzz"])))
    then = rewritten(first.similar.split(" "), again)
    rebuilt, position = [], 0
    for swap in composed(first.original, first.swaps, then):
        assert first.original[swap.start : swap.end] == swap.source != swap.target
        assert then.similar[swap.similar_start : swap.similar_end] == swap.target
        rebuilt += [first.original[position : swap.start], swap.target]
        position = swap.end
    assert "".join([*rebuilt, first.original[position:]]) == then.similar
