from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from rif_plugins.entailment import EmbeddedScorer, EntailmentFilter, equivalence, probe
from rif_plugins.errors import ScorerError

NOUNS = ["dog", "teacher", "film", "kitchen", "car", "river", "doctor", "piano"]
VERBS = ["sees", "likes", "describes in great detail", "never mentions", "buys"]


def some_pairs(number: int) -> list[tuple[str, str]]:
    """Pairs of 6 to 30 words; every second one is the same text with some nouns replaced by synonyms."""
    rng = random.Random(5)

    def text() -> str:
        clauses = [
            f"the {rng.choice(NOUNS)} {rng.choice(VERBS)} a {rng.choice(NOUNS)}"
            for _ in range(rng.randint(1, 3))
        ]
        return " and ".join(clauses)

    texts = [text() for _ in range(number)]
    turned = [
        t.replace("film", "movie").replace("doctor", "physician").replace("car", "automobile") for t in texts
    ]
    return [(t, turned[i] if i % 2 else text()) for i, t in enumerate(texts)]


def test_rows_do_not_depend_on_their_batch(embedded):
    pairs = some_pairs(32)  # in both directions one batch of 64
    together = equivalence(embedded, pairs)
    alone = np.concatenate([equivalence(embedded, [pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-5, rtol=0)
    assert together.min() < 0.1 and together.max() > 0.9


def test_rows_do_not_depend_on_their_order(embedded):
    pairs = some_pairs(64)
    order = np.random.default_rng(3).permutation(len(pairs))
    shuffled = embedded.probabilities([pairs[i] for i in order])
    np.testing.assert_allclose(shuffled, embedded.probabilities(pairs)[order], atol=1e-5, rtol=0)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_rows_do_not_depend_on_the_batch_size(embedded, batch_size):
    pairs = some_pairs(15)
    other = EmbeddedScorer(batch_size=batch_size)
    np.testing.assert_allclose(other.probabilities(pairs), embedded.probabilities(pairs), atol=1e-5, rtol=0)


def test_probabilities_are_distributions(embedded):
    answer = embedded.probabilities(some_pairs(20))
    assert answer.shape == (20, 3) and answer.dtype == np.float64
    assert (answer >= 0).all()
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)


def test_no_pairs(embedded):
    assert embedded.probabilities([]).shape == (0, 3)


def test_equivalence_is_symmetric(embedded):
    pairs = some_pairs(10)
    turned = [(b, a) for a, b in pairs]
    np.testing.assert_allclose(equivalence(embedded, pairs), equivalence(embedded, turned), atol=1e-5)


def test_empty_and_blank_texts(embedded):
    answer = embedded.probabilities([("", ""), ("a dog", ""), ("", "a dog"), ("  \n", "\t")])
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)


def test_long_texts_are_cut(embedded):
    long = "the dog sees the river and " * 500
    answer = embedded.probabilities([(long, long), (long, "a dog"), ("a dog", long)])
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)
    # What lies behind the limit is not read.
    np.testing.assert_allclose(embedded.probabilities([(long + "x", "a dog")]), answer[1:2], atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "naïve café",
        "日本語の文章",
        "😀 great film 👍🏽",
        "e\u0301 combined",
        "\u202eright to left",
        "null \x00 byte",
        "\ud800",
    ],
)
def test_unicode(embedded, text):
    answer = embedded.probabilities([(text, text), ("a dog", text)])
    assert np.isfinite(answer).all()


def test_case_does_not_matter(embedded):
    lower, upper = embedded.probabilities(
        [("a dog runs", "an animal moves"), ("A DOG RUNS", "An Animal Moves")]
    )
    np.testing.assert_allclose(lower, upper, atol=1e-6)


def test_identical_texts_are_equivalent(embedded):
    texts = ["A man plays a guitar.", "a gorgeous , witty , seductive movie .", "She does not like the plan."]
    assert (equivalence(embedded, [(t, t) for t in texts]) > 0.8).all()


def test_the_probe_passes(embedded):
    assert probe(embedded) >= 7


def test_version_comes_from_the_model_file(embedded):
    assert embedded.version.startswith("minilm-nli-")


def test_pickle_carries_settings_only(embedded):
    data = pickle.dumps(embedded)
    assert len(data) < 2_000
    pairs = some_pairs(3)
    np.testing.assert_allclose(
        pickle.loads(data).probabilities(pairs), embedded.probabilities(pairs), atol=1e-6
    )


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ScorerError, match=r"expected model.onnx in .*found none"):
        EmbeddedScorer(tmp_path)
    (tmp_path / "model.onnx").touch()
    with pytest.raises(ScorerError, match=r"expected tokenizer.json"):
        EmbeddedScorer(tmp_path)


def test_neither_torch_nor_transformers_is_loaded(run_python):
    code = (
        "import sys; from rif_plugins.entailment import load_scorer; s = load_scorer('embedded'); "
        "s.probabilities([('a', 'b')]); "
        "print(sorted({'torch', 'transformers', 'textattack'} & set(sys.modules)))"
    )
    assert run_python("-c", code).stdout.strip() == "[]"


def test_importing_loads_nothing_heavy(run_python):
    code = (
        "import sys, rif_plugins.entailment; "
        "print(sorted({'torch', 'transformers', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    assert run_python("-c", code).stdout.strip() == "[]"


def test_threads_do_not_change_the_answer(embedded):
    pairs = some_pairs(5)
    np.testing.assert_allclose(
        EmbeddedScorer(threads=1).probabilities(pairs), embedded.probabilities(pairs), atol=1e-5, rtol=0
    )


UNSEEN = [
    ("a great \U0001f600 film", "a great \U0001f621 film"),
    ("This film is " + "/".join(["good"] * 400), "This film is " + "/".join(["good"] * 399 + ["awful"])),
    ("这" * 600 + "好", "这" * 600 + "坏"),
]


@pytest.mark.parametrize("pair", UNSEEN, ids=["signs it does not know", "cut", "cut without spaces"])
def test_a_difference_that_the_model_cannot_see_is_no_entailment(embedded, pair):
    a, b = pair
    assert embedded.probabilities([(a, b), (b, a)])[:, 0].tolist() == [0.0, 0.0]
    assert not EntailmentFilter(embedded).check(a, [b])[0].accepted
