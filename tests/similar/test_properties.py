"""What holds for every text, whatever it is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rif_plugins.core.pairs import Pair
from rif_plugins.similar import Lexicon, control_texts, find_spans, mask, similar_texts

LEX = Lexicon.load()
GENDER = Lexicon.load("gender")
EVERY = Lexicon.load("gender_names,names,marital_status").merged_with(LEX)

TERMS = [
    "he",
    "She",
    "HER",
    "his",
    "hers",
    "him",
    "a man",
    "An actor",
    "waitress",
    "ladies'",
    "men's",
    "Mr.",
    "Miss",
    "sir",
    "black",
    "a white",
    "Asian",
    "African-American",
    "Muslim",
    "a Jew",
    "Christians",
    "gay",
    "straight",
    "lesbian",
    "old",
    "an elderly",
    "German",
    "Chinese people",
    "blind",
    "with a disability",
    "people",
    "is",
    "and",
    "the",
    "/",
    "film",
    "Smith",
    ",",
    ".",
    "'s",
    "\u2019",
    "n't",
    "``",
    "\u200d",
    "e\u0301",
    "John",
    "Susan Walsh",
    "MARK",
    "Will",
    "Mr. Garcia",
    "married",
    "Latina",
    "\U0001f469",
    "@",
    "://",
]
TEXTS = st.lists(st.one_of(st.sampled_from(TERMS), st.text(max_size=4)), max_size=12).flatmap(
    lambda parts: st.sampled_from([" ", "", "-", "  ", "\n"]).map(lambda glue: glue.join(parts))
)


def check(pair: Pair) -> None:
    assert pair.swaps
    assert pair.original != pair.similar
    position = other = 0
    for swap in pair.swaps:
        assert pair.original[swap.start : swap.end] == swap.source
        assert pair.similar[swap.similar_start : swap.similar_end] == swap.target
        assert pair.original[position : swap.start] == pair.similar[other : swap.similar_start]
        position, other = swap.end, swap.similar_end
    assert pair.original[position:] == pair.similar[other:]


@settings(deadline=None)
@given(TEXTS)
@example("a\u0130 he")
@example("\ud800 she")
def test_spans_lie_in_the_text_and_do_not_overlap_within_an_attribute(text: str) -> None:
    spans = find_spans(text, LEX)
    assert spans == sorted(spans)
    for attribute in LEX.attributes:
        own = [span for span in spans if span.attribute == attribute]
        assert all(0 <= span.start < span.end <= len(text) for span in own)
        assert all(a.end <= b.start for a, b in pairwise(own))


@settings(deadline=None)
@given(TEXTS, st.integers(0, 3))
def test_every_counterpart_is_exact_and_keeps_the_mask(text: str, seed: int) -> None:
    pairs = similar_texts(text, LEX, max_counterparts=6, seed=seed)
    assert len({pair.similar for pair in pairs}) == len(pairs)
    for pair in pairs:
        check(pair)
        assert pair.original == text
        assert mask(pair.similar, LEX) == mask(text, LEX)


@settings(deadline=None)
@given(TEXTS)
def test_masks_and_counterparts_of_a_text_without_spans_change_nothing(text: str) -> None:
    if not find_spans(text, LEX):
        assert mask(text, LEX) == text
        assert similar_texts(text, LEX) == []


ASKED = ["gender*names", "gender*race*age", "marital_status", "names"]
PLAIN = ["gender", "names", "race", "age", "marital_status"]


@settings(deadline=None)
@given(TEXTS, st.integers(0, 3))
def test_joint_counterparts_and_controls_are_exact_and_keep_the_mask(text: str, seed: int) -> None:
    pairs = similar_texts(text, EVERY, ASKED, max_counterparts=6, seed=seed)
    controls = control_texts(text, EVERY, PLAIN, max_controls=4, seed=seed)
    assert all(pair.value_from == pair.value_to for pair in controls)
    for pair in (*pairs, *controls):
        check(pair)
        assert pair.original == text
        assert mask(pair.similar, EVERY, PLAIN) == mask(text, EVERY, PLAIN)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_without_spans_of_any_list_is_left_as_it_is(text: str) -> None:
    if not find_spans(text, EVERY):
        assert mask(text, EVERY) == text
        assert similar_texts(text, EVERY, ASKED) == control_texts(text, EVERY) == []


PEOPLE = ["man", "woman", "actor", "actress", "uncle", "aunt", "king", "queen", "boy", "girl", "heir"]
FRAMES = [
    "{0} saw {1} by the door.",
    "The {0} told the {1} that he met her.",
    "She and the {0} are with his {1}.",
    "His {1} lost his hat, and the {0} found it for her.",
    "the {0} 's {1} , she said , hurt himself .",
]


@settings(deadline=None)
@given(st.sampled_from(FRAMES), st.sampled_from(PEOPLE), st.sampled_from(PEOPLE), st.booleans())
def test_two_swaps_lead_back(frame: str, first: str, second: str, is_upper: bool) -> None:
    text = frame.format(first, second)
    text = text.upper() if is_upper else text
    (there,) = similar_texts(text, GENDER)
    (back,) = similar_texts(there.similar, GENDER)
    assert back.similar == text
    assert (there.value_from, there.value_to) == (back.value_to, back.value_from)


def test_threads_share_a_lexicon() -> None:
    texts = [f"He saw {i} black women and her gay uncle." for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda t: similar_texts(t, LEX), texts)) == [
            similar_texts(t, LEX) for t in texts
        ]
