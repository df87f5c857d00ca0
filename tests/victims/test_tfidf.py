from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import VictimError
from rif_plugins.victims import TfidfLinearModel


def tiny(**changes: object) -> TfidfLinearModel:
    """Three words, two linear models, numbers that can be worked out by hand."""
    fields: dict[str, object] = {
        "words": ("bad", "good", "very good"),
        "idf": np.array([1.0, 2.0, 3.0]),
        "coefficients": np.array([[-1.0, 1.0, 2.0], [-3.0, 0.5, 0.0]]),
        "intercepts": np.array([0.25, -0.5]),
        "slopes": np.array([-1.0, -2.0]),
        "offsets": np.array([0.0, 0.125]),
        "label_names": ("negative", "positive"),
        "max_ngram": 2,
        "source": "made by hand",
    }
    return TfidfLinearModel(**(fields | changes))  # type: ignore[arg-type]


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def test_hand_computed_probabilities() -> None:
    # "Very good, GOOD bad": counts bad 1, good 2, "very good" 1; the other bigrams are unknown.
    # weights (1, 4, 3), length sqrt(26)
    length = math.sqrt(26.0)
    first = (-1.0 + 4.0 + 6.0) / length + 0.25
    second = (-3.0 + 2.0) / length - 0.5
    expected = (sigmoid(first) + sigmoid(2.0 * second - 0.125)) / 2
    assert tiny()(["Very good, GOOD bad"])[0] == pytest.approx([1 - expected, expected], abs=1e-15)


@pytest.mark.parametrize("text", ["", "   ", "a b c", "unknown words only", "bad_ good1"])
def test_text_without_known_words_has_margin_of_the_intercepts(text: str) -> None:
    expected = (sigmoid(0.25) + sigmoid(-1.0 - 0.125)) / 2
    assert tiny()([text])[0, 1] == pytest.approx(expected, abs=1e-15)


def test_bigrams_do_not_count_when_the_model_has_single_words_only() -> None:
    assert tiny(max_ngram=1)(["very good"])[0, 1] == tiny()(["good"])[0, 1]
    assert tiny()(["very good"])[0, 1] != tiny()(["good"])[0, 1]


def test_no_texts_give_no_rows() -> None:
    assert tiny()([]).shape == (0, 2)


def test_huge_margins_stay_finite() -> None:
    model = tiny(coefficients=np.array([[-1e6, 1e6, 0.0], [-1e6, 1e6, 0.0]]))
    probabilities = model(["bad", "good"])
    assert probabilities[:, 1] == pytest.approx([0.0, 1.0])
    assert np.isfinite(probabilities).all()


@given(st.lists(st.text(alphabet="abdgoery GB,.\n", max_size=30), min_size=1, max_size=6))
def test_rows_are_probabilities_and_do_not_depend_on_the_batch(texts: list[str]) -> None:
    model = tiny()
    together = model(texts)
    assert together.shape == (len(texts), 2)
    assert np.allclose(together.sum(axis=1), 1.0, atol=1e-12)
    assert ((together >= 0) & (together <= 1)).all()
    alone = np.concatenate([model([text]) for text in reversed(texts)])[::-1]
    assert (together == alone).all()


@pytest.mark.parametrize("texts", ["one string", [b"bytes"], [None], ["fine", 3]])
def test_refuses_what_is_not_a_list_of_strings(texts: object) -> None:
    with pytest.raises(VictimError, match=r"list of strings.*pass \[text\]"):
        tiny()(texts)  # type: ignore[arg-type]


def test_save_and_load_keep_every_field(tmp_path) -> None:
    model = tiny(words=("naïve", "good", "very good"))
    path = tmp_path / "model.npz"
    model.save(path)
    loaded = TfidfLinearModel.load(path)
    for field in dataclasses.fields(TfidfLinearModel):
        assert np.array_equal(getattr(loaded, field.name), getattr(model, field.name)), field.name
    assert (loaded(["naïve, very good"]) == model(["naïve, very good"])).all()


def test_saving_twice_gives_the_same_bytes(tmp_path) -> None:
    tiny().save(tmp_path / "a.npz")
    tiny().save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_pickles() -> None:
    copy = pickle.loads(pickle.dumps(tiny()))
    assert (copy(["very good bad"]) == tiny()(["very good bad"])).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"idf": np.ones(2)}, r"idf should have shape \(3,\).*got \(2,\)"),
        ({"coefficients": np.ones((2, 4))}, r"coefficients should have shape \(2, 3\).*got \(2, 4\)"),
        ({"slopes": np.array([1.0, np.nan])}, "slopes holds NaN"),
        ({"max_ngram": 0}, "max_ngram >= 1"),
        ({"label_names": ("a", "b", "c")}, "two label names"),
        ({"token_pattern": "(a"}, r"token_pattern '\(a' is no regular expression .*export the model again"),
        ({"token_pattern": "a{99999999999999999999}"}, "is no regular expression"),
        ({"token_pattern": "(" * 5000 + ")" * 5000}, "is no regular expression"),
        ({"token_pattern": r"(\w)(\w)"}, "has 2 groups, expected one at most"),
    ],
)
def test_refuses_arrays_that_do_not_fit(changes: dict[str, object], message: str) -> None:
    with pytest.raises(VictimError, match=message):
        tiny(**changes)


def test_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(VictimError, match=r"no TF-IDF model at .*absent\.npz"):
        TfidfLinearModel.load(tmp_path / "absent.npz")


def test_other_files_are_refused(tmp_path) -> None:
    text = tmp_path / "text.npz"
    text.write_text("hello", encoding="utf-8")
    arrays = tmp_path / "arrays.npz"
    np.savez(arrays, idf=np.ones(3))
    newer = tmp_path / "newer.npz"
    tiny().save(newer)
    content = dict(np.load(newer))
    content["metadata"] = np.frombuffer(b'{"format": "rif-plugins tfidf-linear 9"}', dtype=np.uint8)
    np.savez(newer, **content)
    for path in (text, arrays, newer, tmp_path):
        with pytest.raises(VictimError, match=r"not a TF-IDF model of .*TfidfLinearModel\.save"):
            TfidfLinearModel.load(path)


def test_a_file_with_a_broken_pattern_is_refused_when_it_is_read(tmp_path) -> None:
    path = tmp_path / "model.npz"
    tiny().save(path)
    content = dict(np.load(path))
    metadata = content["metadata"].tobytes().replace(rb"\\b", rb"[\\b")
    np.savez(path, **(content | {"metadata": np.frombuffer(metadata, dtype=np.uint8)}))
    with pytest.raises(VictimError, match=r"token_pattern .* is no regular expression"):
        TfidfLinearModel.load(path)


def test_pickled_arrays_are_not_read(tmp_path) -> None:
    path = tmp_path / "object.npz"
    np.savez(path, metadata=np.array([{"format": "x"}], dtype=object))
    with pytest.raises(VictimError, match="not a TF-IDF model"):
        TfidfLinearModel.load(path)


def test_agrees_with_scikit_learn_on_bigrams() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    train = ["a very good film", "not good at all", "very bad, very dull", "good fun, good cast", "bad film"]
    vectorizer = text.TfidfVectorizer(ngram_range=(1, 2))
    classifier = linear.LogisticRegression(C=4.0).fit(vectorizer.fit_transform(train), [1, 0, 0, 1, 0])
    model = TfidfLinearModel(
        words=tuple(vectorizer.get_feature_names_out()),
        idf=vectorizer.idf_,
        coefficients=classifier.coef_,
        intercepts=classifier.intercept_,
        slopes=np.array([-1.0]),
        offsets=np.array([0.0]),
        max_ngram=2,
    )
    queries = [*train, "", "good good good", "Very good?", "nothing known"]
    expected = classifier.predict_proba(vectorizer.transform(queries))
    assert model(queries) == pytest.approx(expected, abs=1e-12)
