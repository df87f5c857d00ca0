from __future__ import annotations

import pytest

from rif_plugins.core.pairs import Pair, Span, Swap
from rif_plugins.errors import UsageError
from rif_plugins.similar import Lexicon, Plan, apply_plan, find_spans, mask, similar_texts, transpositions
from rif_plugins.similar.lexicon_file import parse_lexicon

LEX = Lexicon.load()
GENDER = Lexicon.load("gender")


def all_similar(text: str, attribute: str) -> dict[str, str]:
    return {f"{p.value_from}>{p.value_to}": p.similar for p in similar_texts(text, LEX, [attribute])}


def test_swaps_give_exact_offsets_on_both_sides() -> None:
    (pair,) = similar_texts("An actor and his wife.", GENDER)
    assert pair == Pair(
        "An actor and his wife.",
        "An actress and her husband.",
        (
            Swap(3, 8, "actor", "actress", 3),
            Swap(13, 16, "his", "her", 15),
            Swap(17, 21, "wife", "husband", 19),
        ),
        "gender",
        "male",
        "female",
    )
    assert pair.protected("similar") == (Span(3, 10), Span(15, 18), Span(19, 26))


def test_a_changed_article_is_a_swap_of_its_own() -> None:
    (pair,) = similar_texts("She is an actress and a heroine.", GENDER)
    assert pair.similar == "He is an actor and a hero."
    (pair,) = similar_texts("A woman met an uncle.", GENDER)
    assert pair.swaps[0] == Swap(2, 7, "woman", "man", 2)
    (pair,) = similar_texts(
        "We met an empress.", Lexicon([parse_lexicon("from\tto\nempress\tking\n", name="x")])
    )
    assert pair.similar == "We met a king."
    assert pair.swaps == (Swap(7, 9, "an", "a", 7), Swap(10, 17, "empress", "king", 9))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A BLACK MAN", "A BLACK WOMAN"),
        ("The Waiter Said", "The Waitress Said"),
        ("the ladies' room", "the gentlemen's room"),
        ("the ladies ' room", "the gentlemen 's room"),
        ("women's rights", "men's rights"),
        ("The waiters' strike", "The waitresses' strike"),
        ("THE LADIES' ROOM", "THE GENTLEMEN'S ROOM"),
        ("'the ladies' he said", "'the gentlemen' she said"),
        ("my sister\u2019s son", "my brother\u2019s daughter"),
        ("a he-said-she-said case", "a she-said-he-said case"),
        ("MR. SMITH", "MS. SMITH"),
        ("Queen of hearts", "King of hearts"),
        ("my fianc\u00e9e", "my fianc\u00e9"),
        ("boys and girls", "girls and boys"),
    ],
)
def test_a_gender_swap_leads_there_and_back(one: str, other: str) -> None:
    assert similar_texts(one, GENDER)[0].similar == other
    assert similar_texts(other, GENDER)[0].similar == one


def test_first_spelling_of_a_cell_is_written() -> None:
    assert similar_texts("Mrs. Smith, his mum", GENDER)[0].similar == "Mr. Smith, her dad"
    assert similar_texts("Mr. Smith, her dad", GENDER)[0].similar == "Ms. Smith, his mom"


def test_all_other_values_are_enumerated_in_column_order() -> None:
    assert list(all_similar("My friend is a Muslim.", "religion").items()) == [
        ("muslim>christian", "My friend is a Christian."),
        ("muslim>jewish", "My friend is a Jew."),
        ("muslim>hindu", "My friend is a Hindu."),
        ("muslim>buddhist", "My friend is a Buddhist."),
        ("muslim>sikh", "My friend is a Sikh."),
        ("muslim>atheist", "My friend is an atheist."),
    ]


def test_several_values_never_collapse_into_one() -> None:
    assert all_similar("Gay and straight people", "orientation") == {
        "gay>straight": "Straight and gay people",
        "gay>bisexual": "Bisexual and straight people",
        "straight>bisexual": "Gay and bisexual people",
    }
    mixed = all_similar("Jews, Muslims and Jews", "religion")
    assert mixed["jewish>muslim"] == "Muslims, Jews and Muslims"
    assert mixed["jewish>sikh"] == "Sikhs, Muslims and Sikhs"
    assert "muslim>jewish" not in mixed


def test_grammatical_form_is_kept() -> None:
    assert (
        all_similar("A Jew, a Jewish man, Jews", "religion")["jewish>hindu"] == "A Hindu, a Hindu man, Hindus"
    )
    spanish = all_similar("A Turk saw Turkish people and a Turkish man.", "nationality")["turkish>spanish"]
    assert spanish == "A Spaniard saw Spaniards and a Spanish man."
    assert all_similar("an old man", "age") == {
        "old>young": "a young man",
        "old>middle_aged": "a middle-aged man",
    }
    assert all_similar("an African-American man", "race")["black>white"] == "a white man"


def test_lower_case_tokenised_text_stays_lower_case() -> None:
    assert all_similar("he is black and she 's n't", "race")["black>asian"] == "he is asian and she 's n't"
    assert all_similar("a muslim , a gay asian", "religion")["muslim>jewish"] == "a jew , a gay asian"


def test_a_counterpart_that_would_change_the_mask_is_left_out() -> None:
    assert list(all_similar("gay cinema", "orientation")) == ["gay>bisexual"]


def test_a_value_without_a_term_in_the_slot_is_left_out() -> None:
    assert all_similar("my younger sister", "age") == {"young>old": "my older sister"}


def test_attributes_are_changed_one_at_a_time_in_the_order_asked() -> None:
    pairs = similar_texts("a gay man", LEX, ["orientation", "gender"])
    assert [(p.attribute, p.similar) for p in pairs] == [
        ("orientation", "a straight man"),
        ("orientation", "a bisexual man"),
        ("gender", "a gay woman"),
    ]


@pytest.mark.parametrize("text", ["", "No one.", "white paper"])
def test_nothing_sensitive_gives_no_pair(text: str) -> None:
    assert similar_texts(text, LEX) == []


def test_a_plan_that_changes_nothing_gives_the_text_itself() -> None:
    text = "A man saw her."
    spans = find_spans(text, GENDER)
    still = Plan("gender", "male", "male", {("gender", "male"): "male", ("gender", "female"): "female"})
    assert apply_plan(text, spans, GENDER, still) == Pair(text, text, (), "gender", "male", "male")
    assert apply_plan(text, [], GENDER, still) == Pair(text, text, (), "gender", "male", "male")


def test_a_plan_may_change_two_attributes_or_some_spans_only() -> None:
    text = "A gay man saw her."
    spans = find_spans(text, LEX)
    both = Plan("both", "", "", {("gender", "male"): "female", ("orientation", "gay"): "straight"})
    pair = apply_plan(text, spans, LEX, both)
    assert pair is not None and pair.similar == "A straight woman saw her."
    (plan,) = transpositions(spans, LEX, "gender")
    pair = apply_plan(text, spans[:2], LEX, plan)
    assert pair is not None and pair.similar == "A gay woman saw her."


def test_the_cap_is_seeded_takes_turns_and_keeps_the_order() -> None:
    text = "My German grandmother is a Muslim and she is deaf."
    everything = similar_texts(text, LEX)
    some = similar_texts(text, LEX, max_counterparts=4, seed=5)
    assert [p.attribute for p in some] == ["gender", "religion", "nationality", "disability"]
    assert some == [p for p in everything if p in some]
    assert some == similar_texts(text, LEX, max_counterparts=4, seed=5)
    assert any(similar_texts(text, LEX, max_counterparts=4, seed=s) != some for s in range(5))
    assert similar_texts(text, LEX, max_counterparts=10_000) == everything
    assert similar_texts(text, LEX, max_counterparts=1, seed=-3) == similar_texts(
        text, LEX, max_counterparts=1, seed=-3
    )
    with pytest.raises(UsageError, match="max_counterparts is 0, expected 1 or more"):
        similar_texts(text, LEX, max_counterparts=0)


def test_the_draw_of_a_text_does_not_depend_on_other_texts() -> None:
    texts = ["She is French.", "He is a Sikh.", "an old black man"]
    forward = {t: similar_texts(t, LEX, max_counterparts=2, seed=1) for t in texts}
    backward = {t: similar_texts(t, LEX, max_counterparts=2, seed=1) for t in reversed(texts)}
    assert forward == backward


def test_every_member_has_the_mask_of_the_original() -> None:
    text = "An old gay Nigerian actor and his black wife, a Muslim, saw the men's and ladies' teams."
    pairs = similar_texts(text, LEX)
    assert {p.attribute for p in pairs} == {"gender", "race", "religion", "nationality", "age", "orientation"}
    assert {mask(p.similar, LEX) for p in pairs} == {mask(text, LEX)}
