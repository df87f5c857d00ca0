from __future__ import annotations

import pytest

from rif_plugins.similar import Lexicon, find_spans, similar_texts

LEX = Lexicon.load("gender")


def swap(text: str) -> str:
    (pair,) = similar_texts(text, LEX)
    return pair.similar


@pytest.mark.parametrize(
    ("female", "male"),
    [
        # determiner
        ("I read her book.", "I read his book."),
        ("Her new old car broke down.", "His new old car broke down."),
        ("She did it on her own.", "He did it on his own."),
        ("We know her every move.", "We know his every move."),
        ("She gave her mother a book.", "He gave his father a book."),
        ("Let her guard down", "Let his guard down"),
        ("her so-called plan", "his so-called plan"),
        ("her on-screen charm", "his on-screen charm"),
        ("her on screen charm", "his on screen charm"),
        ("Her deeply personal film", "His deeply personal film"),
        ("her lovely voice", "his lovely voice"),
        ('her "plan"', 'his "plan"'),
        ("It was against her will.", "It was against his will."),
        ("She tried her best.", "He tried his best."),
        ("She broke her back.", "He broke his back."),
        ("on her right is a door", "on his right is a door"),
        ("in her last year", "in his last year"),
        ("Her long and happy life", "His long and happy life"),
        ("She makes her debut the same day.", "He makes his debut the same day."),
        ("her singing is good", "his singing is good"),
        ("She gave her all.", "He gave his all."),
        ("We met her president.", "We met his president."),
        # object
        ("They elected her president.", "They elected him president."),
        ("We crowned her queen of the day.", "We crowned him king of the day."),
        ("I saw her.", "I saw him."),
        ("I saw her", "I saw him"),
        ("I told her that it works.", "I told him that it works."),
        ("I know her and my aunt.", "I know him and my uncle."),
        ("We gave her to the sisters.", "We gave him to the brothers."),
        ("They let her go.", "They let him go."),
        ("We helped her find the way.", "We helped him find the way."),
        ("It made her sad.", "It made him sad."),
        ("It made her feel old.", "It made him feel old."),
        ("We gave her money.", "We gave him money."),
        ("We gave her 20 dollars.", "We gave him 20 dollars."),
        ("We saw her yesterday.", "We saw him yesterday."),
        ("We saw her last night.", "We saw him last night."),
        ("We visit her every day.", "We visit him every day."),
        ("We called her back.", "We called him back."),
        ("We kept her waiting.", "We kept him waiting."),
        ("They love her deeply.", "They love him deeply."),
        ("We found her tied to a chair.", "We found him tied to a chair."),
        ("We told her all about it.", "We told him all about it."),
        ("It is for one of her too", "It is for one of him too"),
        ("The man next to her holds a cup.", "The woman next to him holds a cup."),
        ("We filmed her climbing the wall.", "We filmed him climbing the wall."),
        ("I like her (a lot).", "I like him (a lot)."),
        ("They made her one of us.", "They made him one of us."),
        ("We wished her happy holidays.", "We wished him happy holidays."),
        ("i saw her , who left", "i saw him , who left"),
        ("They called her Bob.", "They called him Bob."),
        ("I love her more than you.", "I love him more than you."),
    ],
)
def test_her_is_his_or_him(female: str, male: str) -> None:
    assert swap(female) == male


@pytest.mark.parametrize(
    ("male", "female"),
    [
        ("I read his book.", "I read her book."),
        ("The book is his.", "The book is hers."),
        ("A friend of his is here.", "A friend of hers is here."),
        ("His is better.", "Hers is better."),
        ("It is his, not ours.", "It is hers, not ours."),
        ("his , as i say , odd film", "her , as i say , odd film"),
        ("his own", "her own"),
        ("his in-laws", "her in-laws"),
        ("his over the top acting", "her over the top acting"),
        ("his (second) film", "her (second) film"),
        ("a friend of his (a baker)", "a friend of hers (a baker)"),
        ("his ` great ' film", "her ` great ' film"),
        ("I saw him.", "I saw her."),
        ("He hurt himself.", "She hurt herself."),
    ],
)
def test_his_is_her_or_hers(male: str, female: str) -> None:
    assert swap(male) == female


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Each has his or her book.", "Each has her or his book."),
        ("his and hers", "hers and his"),
        ("his/her car", "her/his car"),
        ("him/her", "her/him"),
        ("he/she", "she/he"),
        ("I met him and his friend.", "I met her and her friend."),
        ("She told him that her book is his.", "He told her that his book is hers."),
    ],
)
def test_joined_pronouns_are_mirrored_both_ways(one: str, other: str) -> None:
    assert swap(one) == other
    assert swap(other) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("he's here", "she's here"),
        ("He\u2019ll go", "She\u2019ll go"),
        ("she 's here", "he 's here"),
        ("she'd've", "he'd've"),
    ],
)
def test_contractions(one: str, other: str) -> None:
    assert swap(one) == other
    assert swap(other) == one


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_hers_with_an_apostrophe_is_hers(apostrophe: str) -> None:
    assert swap(f"The book is her{apostrophe}s.") == "The book is his."


@pytest.mark.parametrize(
    "text", ["s/he left", "(s)he left", "S/He", "the shed", "heroic", "he_she", "her@mail.org", "@her"]
)
def test_what_only_looks_like_a_pronoun_is_left_alone(text: str) -> None:
    assert find_spans(text, LEX) == []
