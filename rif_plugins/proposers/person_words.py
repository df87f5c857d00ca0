"""Words about people that a proposer leaves alone or never writes; fixed lists, lower case, base forms.

They add to what the lexicons call sensitive. A lexicon lists terms that have a counterpart of another value;
the words here mark a group as well but have none, or insult one. Two kinds:

* :data:`PERSON_WORDS` are neither edited nor written: an edit would drop or add the age, gender or origin
  that they state. *Child*, *baby*, *kid*, *teen* and *senior* are among them although they are common: their
  synonyms (*youngster*, *minor*, *elder*) give another age, and age is a sensitive attribute.
* :data:`NEVER_WRITTEN` may be edited away but not written: they insult, or have one reading that does.
"""

from __future__ import annotations

import functools

from rif_plugins.proposers.closed_classes import POSSESSIVES, PRONOUNS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AGES = _words(
    "elder eldest child children babied childhood baby babe infant toddler kid kiddie tot teen teenage "
    "teenaged adolescent adolescence juvenile youth adult grownup senior oldster geezer codger graybeard "
    "greybeard oldtimer aged"
)
_GENDERED = _words(
    "chap bloke gent fella feller dude hombre lord dame wench lassie laddie missy madame mademoiselle "
    "monsieur granny grannie gran nan nana nanna nanny gramps grandad pa pappa ma mammy dada forefather "
    "foremother mistress spinster bluestocking tomboy sissy beau belle swain damsel maiden maid nursemaid "
    "handmaid milkmaid housemaid midwife fishwife coquette temptress enchantress adulteress hostess "
    "heiress inheritress laundress marchioness patroness peeress prioress seamstress sempstress authoress "
    "poetess priestess goddess governess huntress murderess manageress lioness songstress ancestress "
    "benefactress shepherdess sculptress conductress aviatress negotiatress majorette usherette "
    "suffragette brunette alumna alumnus alumni alumnae protegee divorcee virile effeminate transsexual "
    "transgender transvestite auntie aunty sis sonny sire stripling gaffer matron matronly mannish "
    "womanish unmanly ladylike gentlemanly tomboyish virago amazon distaff muliebrity"
)
_ORIGINS = _words(
    "african european latin oriental aryan semite semitic hebrew israelite jewess negress negro gypsy "
    "gipsy romani eskimo creole mulatto aborigine aboriginal slav slavic scandinavian persian arabian "
    "moorish heathen pagan infidel gentile goy papist popish romish coloured colored handicapped cripple"
)
_SLURS = _words(
    "homo fag faggot fagot dyke queer queerness poof poove pouf nance pansy fairy sodomite tranny retard "
    "mongol mongoloid spastic spaz nigger nigga nigra coon darky darkie jigaboo blackamoor chink gook jap "
    "nip paki wog wop dago spic spick kike hymie sheeny yid kraut limey injun redskin squaw gringo honky "
    "whitey cracker"
)

PERSON_WORDS = _AGES | _GENDERED | _ORIGINS | _SLURS - _words("fairy cracker nip pansy coon")
"""Neither edited nor written."""

NEVER_WRITTEN = (
    PERSON_WORDS
    | _SLURS
    | _words(
        "cretin imbecile moron idiot half-wit halfwit lame gimp gimpy dumb deaf-mute midget dwarf lunatic "
        "crackpot fellow fruitcake chick hag crone witch whore harlot bitch slut strumpet trollop floozy "
        "bawd fagged nipping husbandman blighter cuss shaver nipper tiddler nestling tike tyke yankee yank"
    )
)
"""Never written in the place of another word; *fellow* because most of its readings are male."""

_ENDINGS = {
    "woman": "woman", "women": "woman", "man": "man", "men": "man", "girl": "woman", "girls": "woman",
    "boy": "man", "boys": "man", "lady": "woman", "ladies": "woman", "maid": "woman", "maids": "woman",
    "mistress": "woman", "wife": "woman", "wives": "woman",
}  # fmt: skip
_NO_PERSON = _words(
    "human inhuman superhuman subhuman nonhuman infrahuman unhuman german roman norman ottoman brahman "
    "talisman shaman caiman cayman dolman liman soman unman merchantman chessman snowman abdomen acumen "
    "agnomen albumen amen bitumen catechumen cerumen cognomen cyclamen dolmen duramen examen flamen "
    "foramen hymen limen lumen numen omen praenomen putamen ramen regimen rumen semen specimen stamen "
    "yemen malady maladies carboy highboy lowboy tallboy alewife"
)
HOMOGRAPHS = PRONOUNS | POSSESSIVES | {"miss", "polish"}
"""Sensitive words whose inflected form is another word: *shed*, *hiss*, *heed*, *missing*, *polished*."""


@functools.lru_cache(maxsize=2**15)
def person_ending(phrase: str) -> str:
    """``"man"`` or ``"woman"`` when a word of ``phrase`` is a compound that names a gender, else ``""``.

    >>> [person_ending(p) for p in ("crewman", "cleaning lady", "delivery boys", "human", "sailor")]
    ['man', 'woman', 'man', '', '']
    """
    for word in phrase.lower().replace("-", " ").replace("_", " ").split():
        word = word.strip("'\"’.,;:!?()").removesuffix("'s").removesuffix("’s")
        for ending, gender in _ENDINGS.items():
            if word.endswith(ending) and word not in _NO_PERSON:
                return gender
    return ""
