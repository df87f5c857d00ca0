from __future__ import annotations

import json
import pickle
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rif_plugins.entailment import PROBE, EntailmentFilter, HuggingFaceScorer, load_scorer
from rif_plugins.entailment.hugging_face import label_columns
from rif_plugins.entailment.model_files import token_limit
from rif_plugins.errors import ScorerError

NAMES = ("entailment", "neutral", "contradiction")
MakeModel = Callable[..., Path]


def solve_tiny(folder: Path, classes: Sequence[int], n_labels: int) -> None:
    """A two-layer model that knows the probe pairs by heart; ``classes`` are their output columns."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = sorted({w for a, b, _ in PROBE for w in re.findall(r"\w+|[^\w\s]", f"{a} {b}".lower())})
    folder.mkdir()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(vocabulary), model_max_length=64)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, num_labels=n_labels,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config).eval()
        batch = tokenizer(
            [a for a, _, _ in PROBE], [b for _, b, _ in PROBE], padding=True, return_tensors="pt"
        )
        # Eight pairs in 32 dimensions: the last layer can be solved for, without any training.
        features = model.bert(**batch).pooler_output
        targets = 8.0 * torch.nn.functional.one_hot(torch.tensor(classes), n_labels) - 4.0
        model.classifier.weight.copy_((torch.linalg.pinv(features) @ targets).T)
        model.classifier.bias.zero_()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """Makes a folder with a tiny model and the given labels; weights are made once for each layout."""
    root = tmp_path_factory.mktemp("models")

    def make(labels: Sequence[str], meaning: Sequence[str] | None = None) -> Path:
        """``labels`` go into id2label; ``meaning`` is what the columns really mean (default: the same)."""
        meaning = [m.lower() for m in (meaning or labels)]
        rest = meaning.index("not_entailment") if "not_entailment" in meaning else None
        classes = [meaning.index(c) if c in meaning else rest for _, _, c in PROBE]
        folder = root / ("weights-" + "-".join(meaning))
        if not folder.exists():
            solve_tiny(folder, classes, len(labels))  # type: ignore[arg-type]
        config = json.loads((folder / "config.json").read_text())
        config["id2label"] = {str(i): label for i, label in enumerate(labels)}
        config["label2id"] = {label: i for i, label in enumerate(labels)}
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    return make


@pytest.mark.parametrize(
    "labels", [NAMES, ("CONTRADICTION", "Neutral", "Entailment"), ("neutral", "entailment", "contradiction")]
)
def test_labels_in_any_order_and_case(tiny, labels):
    scorer = load_scorer(f"hf:{tiny(labels)}")
    answer = scorer.probabilities([(a, b) for a, b, _ in PROBE])
    assert [NAMES[i] for i in answer.argmax(axis=1)] == [label for _, _, label in PROBE]
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)
    assert scorer.version.startswith("sha256:")


def test_a_two_label_model_has_no_contradiction(tiny):
    scorer = load_scorer(f"hf:{tiny(('entailment', 'not_entailment'))}")
    answer = scorer.probabilities([(a, b) for a, b, _ in PROBE])
    assert (answer[:, 2] == 0).all()
    assert [p > 0.5 for p in answer[:, 0]] == [label == "entailment" for _, _, label in PROBE]


@pytest.mark.parametrize(
    "labels", [("contradiction", "neutral", "entailment"), ("neutral", "entailment", "contradiction")]
)
def test_swapped_labels_fail_the_probe(tiny, labels):
    folder = tiny(labels, NAMES)
    with pytest.raises(
        ScorerError, match=r"start-up probe: expected at least 6 of 8 .* got \d; check id2label"
    ):
        load_scorer(f"hf:{folder}")


def test_two_swapped_labels_fail_the_probe(tiny):
    folder = tiny(("not_entailment", "entailment"), ("entailment", "not_entailment"))
    with pytest.raises(ScorerError, match="start-up probe"):
        load_scorer(f"hf:{folder}")


def test_nameless_labels_are_refused(tiny):
    folder = tiny(("LABEL_0", "LABEL_1", "LABEL_2"), NAMES)
    with pytest.raises(
        ScorerError, match=r"has the labels LABEL_0, LABEL_1, LABEL_2: expected .*; write the names"
    ):
        load_scorer(f"hf:{folder}")


def test_rows_do_not_depend_on_their_batch(tiny):
    scorer = HuggingFaceScorer(str(tiny(NAMES)), batch_size=3)
    pairs = [(a, b) for a, b, _ in PROBE] + [("A man .", ""), ("", ""), ("dogs " * 200, "A man")]
    together = scorer.probabilities(pairs)
    alone = np.concatenate([scorer.probabilities([pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=5e-5, rtol=0)
    assert scorer.probabilities([]).shape == (0, 3)


def test_pickle_carries_settings_only(tiny):
    scorer = HuggingFaceScorer(str(tiny(NAMES)))
    pairs = [(a, b) for a, b, _ in PROBE]
    expected = scorer.probabilities(pairs)
    data = pickle.dumps(scorer)
    assert len(data) < 2_000
    np.testing.assert_allclose(pickle.loads(data).probabilities(pairs), expected, atol=1e-6)


def test_a_folder_that_holds_no_model(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ScorerError, match="cannot load the model"):
        load_scorer(f"hf:{tmp_path}")


def test_a_hub_name_without_network_is_one_clear_line():
    with pytest.raises(ScorerError, match=r"cannot load the model 'no-such/model'") as caught:
        load_scorer("hf:no-such/model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("id2label", "columns"),
    [
        ({0: "entailment", 1: "neutral", 2: "contradiction"}, (0, 1, 2)),
        ({0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}, (1, 2, 0)),
        ({0: "not_entailment", 1: "Entailment"}, (1, 0, None)),
        ({0: "entailment", 1: "not-entailment"}, (0, 1, None)),
    ],
)
def test_label_columns(id2label, columns):
    assert label_columns(id2label, "m") == columns


@pytest.mark.parametrize("id2label", [{0: "positive", 1: "negative"}, {0: "entailment"}, {}])
def test_labels_of_other_tasks_are_refused(id2label):
    with pytest.raises(
        ScorerError, match=r"use a model trained for natural language inference|write the names"
    ):
        label_columns(id2label, "m")


def test_a_two_label_model_filters_both_ways(tiny):
    scorer = load_scorer(f"hf:{tiny(('entailment', 'not_entailment'))}")
    premise, hypothesis, _ = PROBE[0]
    forward, backward = scorer.probabilities([(premise, hypothesis), (hypothesis, premise)])[:, 0]
    (verdict,) = EntailmentFilter(scorer).check(premise, [hypothesis])
    assert (verdict.forward, verdict.backward) == (pytest.approx(forward), pytest.approx(backward))
    assert verdict.score == pytest.approx(forward * backward)


def test_a_text_far_over_the_limit_is_judged_by_its_sentence(tiny):
    """The tiny model has 64 places; the text has thousands of words, the edit in its last sentence."""
    scorer = HuggingFaceScorer(str(tiny(NAMES)))
    premise, hypothesis, _ = PROBE[2]
    filler = "Two dogs are running through a field. " * 600
    gate = EntailmentFilter(scorer, veto=None, min_equivalence=0.01)
    (long,) = gate.check(filler + premise, [filler + hypothesis])
    (short,) = gate.check(premise, [hypothesis])
    assert (long.forward, long.backward) == (pytest.approx(short.forward), pytest.approx(short.backward))
    assert long.forward > 0.9
    whole = filler[:400]
    assert scorer.probabilities([(whole + premise, whole + hypothesis)]).tolist() == [[0.0, 1.0, 0.0]]


def test_word_scope_asks_about_the_bare_words(tiny):
    scorer = HuggingFaceScorer(str(tiny(NAMES)))
    gate = EntailmentFilter(scorer, scope="word", veto=None)
    (verdict,) = gate.check("A man is eating a sandwich.", ["A boy is eating a sandwich."])
    expected = scorer.probabilities([("man", "boy"), ("boy", "man")])[:, 0]
    assert (verdict.forward, verdict.backward) == (pytest.approx(expected[0]), pytest.approx(expected[1]))


def test_pairs_are_cut_at_the_places_of_the_model(tiny, tmp_path):
    """A tokenizer that names no limit must not send more than the model has positions for."""
    folder = tmp_path / "no-limit"
    shutil.copytree(tiny(NAMES), folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("model_max_length")
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    scorer = HuggingFaceScorer(str(folder))
    assert scorer.probabilities([("dogs " * 200, "a man")]).tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("kind", "positions", "expected"),
    [("bert", 512, 256), ("bert", 100, 100), ("roberta", 130, 128), ("mpnet", 80, 78), ("xlnet", -1, 256)],
)
def test_token_limits(kind, positions, expected):
    config = SimpleNamespace(model_type=kind, max_position_embeddings=positions)
    assert token_limit(config, SimpleNamespace(model_max_length=10**30), 256) == expected
    assert token_limit(SimpleNamespace(), SimpleNamespace(model_max_length=90), 256) == 90
