"""Edits for the filters: labelled one-word pairs, a proposer's candidates, and wrong ones made on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from entailment_lab.nli_sets import changed_words, split_breaking_nli

from rif_plugins.core.tokens import word_spans
from rif_plugins.core.wordnet import WordNet
from rif_plugins.proposers import TokenContext, WordNetProposer

SEED = 20_261_130


@dataclass(frozen=True, slots=True)
class EditPair:
    """One edited text.

    Attributes:
        original, edited: The texts.
        words: What was replaced, by what.
        kind: Category of Breaking NLI, or how the edit was made.
        is_right: Whether it keeps the meaning; None where nobody has said so.
    """

    original: str
    edited: str
    words: tuple[str, str]
    kind: str
    is_right: bool | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """Both texts."""
        return self.original, self.edited


def breaking_nli(data: Path) -> list[EditPair]:
    """The held-out half; only the category *synonyms* keeps the meaning."""
    _, held, _ = split_breaking_nli(data)
    return [
        EditPair(
            row.premise,
            row.hypothesis,
            changed_words(row.premise, row.hypothesis),
            row.category,
            row.category == "synonyms",
        )
        for row in held
    ]


def review_sentences(data: Path) -> list[str]:
    """Distinct sentences of SST-2 dev and test; the embedded model has seen neither."""
    texts = []
    for name in ("dev.tsv", "test.tsv"):
        with (data / "sst2" / name).open(encoding="utf-8") as file:
            texts += [line.rpartition("\t")[0].strip() for line in file]
    return list(dict.fromkeys(text for text in texts if text))


def proposed_edits(sentences: Sequence[str], number: int, *, max_candidates: int = 12) -> list[EditPair]:
    """A sample of what the WordNet proposer puts into these sentences, one edit each."""
    proposer = WordNetProposer(max_candidates=max_candidates)
    order = list(sentences)
    Random(SEED).shuffle(order)
    found: list[EditPair] = []
    for text in order:
        contexts = [TokenContext(text, span.start, span.end) for span in word_spans(text)]
        for context, candidates in zip(contexts, proposer.propose(contexts), strict=True):
            for candidate in candidates:
                edited = text[: context.start] + candidate.text + text[context.end :]
                found.append(EditPair(text, edited, (context.token, candidate.text), "proposed"))
        if len(found) >= number:
            break
    return found[:number]


def wrong_edits(sentences: Sequence[str], relation: str, number: int) -> list[EditPair]:
    """Edits that are wrong by the lexicon: a word of its first sense by an antonym or a more general word.

    Args:
        sentences: Where to put them.
        relation: ``"antonym"`` or ``"hypernym"``.
        number: How many; one a sentence and word at most.
    """
    from entailment_lab.one_word import SlotFinder, fill

    wordnet = WordNet.load()
    # The finder only looks into the lexicon; the words are chosen here, not by the rules of the training.
    finder = SlotFinder(wordnet, None)  # type: ignore[arg-type]
    random = Random(SEED)
    order = list(sentences)
    random.shuffle(order)
    found: list[EditPair] = []
    for text in order:
        for slot in finder.slots(text):
            words = [word for word in _related(wordnet, slot.lemma, slot.pos, relation) if "_" not in word]
            if not words:
                continue
            word = random.choice(words)
            edited = fill(slot, word, random)
            if edited is not None and edited != text:
                before = text[slot.start : slot.end]
                found.append(EditPair(text, edited, (before, word), relation, False))
        if len(found) >= number:
            break
    return found[:number]


def _related(wordnet: WordNet, lemma: str, pos: str, relation: str) -> Iterator[str]:
    senses = wordnet.senses(lemma, pos)
    if not senses:
        return
    if relation == "antonym":
        yield from wordnet.antonyms(lemma, pos)
        return
    for above in wordnet.hypernyms(senses[0]):
        for word in above.lemmas:
            # A word that is also a synonym in another sense may be a good edit.
            if wordnet.relation(lemma, word) == "hypernym":
                yield word
