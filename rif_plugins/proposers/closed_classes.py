"""Closed word classes of English that the proposers' rules look at; every list is lower case."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the")
DETERMINERS = ARTICLES | _words(
    "this that these those each every either some any all both such another other"
)
POSSESSIVES = _words("my your his her its our their whose")
NOMINATIVE_PRONOUNS = _words("i he she we they who")
OBJECT_PRONOUNS = _words("me him us them it")
PRONOUNS = NOMINATIVE_PRONOUNS | _words(
    "me you him it us them mine yours hers ours theirs myself yourself himself herself itself ourselves "
    "yourselves themselves themself oneself whom which what whoever whatever whichever someone somebody "
    "something anyone anybody anything everyone everybody everything"
)
PREPOSITIONS = _words(
    "of in on at by for with from to into onto about above across after against along among amongst "
    "around as before behind below beneath beside besides between beyond despite down during except "
    "inside like near off out outside over past per since than through throughout till toward towards "
    "under underneath until up upon via within"
)
CONJUNCTIONS = _words(
    "and or but if because although though while whereas unless whether so when where why how"
)
MODALS = _words("can could will would shall should may might must 'll 'd ca wo")
DO_FORMS = _words("do does did")
BE_FORMS = _words("be am is are was were been being 'm 're 's")
HAVE_FORMS = _words("have has had having 've")
DEGREE_WORDS = _words("very too quite rather extremely fairly somewhat")
FOCUS_WORDS = _words(
    "also just only even still yet again then there here now already ever always else more most less "
    "least much many few own same well both enough almost"
)
OTHER_AUXILIARIES = _words("doing done ought need dare let used")
GRADED_WORDS = _words("better best worse worst well ill")
"""Irregular grades: *better* is *good* or *well*, and the rest of the sentence decides which."""
FORMULAS = _words(
    "please thanks thank hello hi hey yes yeah yep ok okay maybe perhaps oh ah wow sorry bye goodbye bit lot "
    "lots"
)
"""Words of address and answer, and the nouns of *a bit*, *a lot*: no synonym stands there."""
CONTRACTIONS_OF_BE = _words(
    "it's that's there's he's she's what's who's here's where's how's when's why's this's everything's "
    "i'm you're we're they're"
)
LET_US = "let's"
FUNCTION_WORDS = (
    DETERMINERS
    | POSSESSIVES
    | PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | MODALS
    | DO_FORMS
    | BE_FORMS
    | HAVE_FORMS
    | DEGREE_WORDS
    | FOCUS_WORDS
    | OTHER_AUXILIARIES
    | GRADED_WORDS
    | FORMULAS
)

NEGATIONS = _words(
    "not no never n't n’t none nobody nothing nowhere neither nor without hardly scarcely barely rarely "
    "seldom cannot nope nay non zilch lack lacks lacked lacking lest except unless aint arent cant "
    "couldnt didnt doesnt dont hadnt hasnt havent isnt mightnt mustnt neednt shouldnt shant wasnt "
    "werent wont wouldnt"
)
NEGATIVE_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis")

_CARDINALS = _words(
    "zero nought one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen pair couple duo trio quartet quintet sextet twosome "
    "threesome foursome deuce single"
)
_ORDINALS = _words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth fortieth "
    "fiftieth sixtieth seventieth eightieth ninetieth hundredth thousandth millionth billionth"
)
NUMBER_WORDS = (
    _CARDINALS
    | _ORDINALS
    | {word + "s" for word in _CARDINALS | _ORDINALS}
    | _words("twenties thirties forties fifties sixties seventies eighties nineties")
    | _words(
        "once twice thrice half halves quarter quarters double triple quadruple firstly secondly thirdly "
        "doubled doubling doubles tripled tripling triples halve halved halving halves twain dual naught nil "
        "twelvemonth fortnight umpteen"
    )
)
