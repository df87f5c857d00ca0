from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers import EmbeddingProposer, TokenContext, load_proposer
from rif_plugins.proposers.embedding import read_vectors

# Angles in degrees: the cosine of two words is that of the difference.
ANGLES = {
    "the": 1, "dog": 0, "hound": 10, "dogs": 2, "cat": 20, "not": 3, "barked": 5, "woman": 4, "canine": 40,
    "film": 90, "movie": 95, "films": 91, "movies": 96, "flick": 170,
}  # fmt: skip


def vector(angle: float) -> list[float]:
    return [2 * math.cos(math.radians(angle)), 2 * math.sin(math.radians(angle))]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    lines = [" ".join([word, *(f"{x:.6f}" for x in vector(angle))]) for word, angle in ANGLES.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def propose(proposer: EmbeddingProposer, text: str, token: str) -> list[str]:
    start = text.index(token)
    (found,) = proposer.propose([TokenContext(text, start, start + len(token))])
    assert {candidate.source for candidate in found} <= {"embedding"}
    return [candidate.text for candidate in found]


def test_nearest_words_of_the_same_form_come_first(glove: Path) -> None:
    proposer = EmbeddingProposer(glove, least=math.cos(math.radians(30)), protected=lambda w: w == "woman")
    assert propose(proposer, "the dog slept", "dog") == ["hound", "cat"]
    assert propose(proposer, "the films ended", "films") == ["movies"]
    assert propose(proposer, "Film is art", "Film") == ["Movie"]
    assert propose(proposer, "the film's end", "film's") == ["movie's"]
    assert propose(proposer, "the zebra slept", "zebra") == []
    assert propose(proposer, "the dog", "the") == []


def test_limits(glove: Path) -> None:
    wide = EmbeddingProposer(glove, least=math.cos(math.radians(41)), protected=lambda w: w == "woman")
    assert propose(wide, "the dog slept", "dog") == ["hound", "cat", "canine"]
    # The word itself, "dogs", "the" and "not" are among the seven nearest.
    near = EmbeddingProposer(glove, least=-1, n_neighbours=6, protected=lambda w: w == "woman")
    assert propose(near, "the dog slept", "dog") == ["hound"]
    assert propose(EmbeddingProposer(glove, max_words=3), "the dog slept", "dog") == ["hound"]
    for options, message in (
        ({"max_words": 0}, "max_words and n_neighbours must be at least 1, got 0 and 50"),
        ({"least": 2.0}, r"least must be between -1 and 1, got 2\.0"),
    ):
        with pytest.raises(UsageError, match=message):
            EmbeddingProposer(glove, **options)  # type: ignore[arg-type]


def test_matrix_with_a_list_or_a_parquet_file_of_words(glove: Path, tmp_path: Path) -> None:
    words = list(ANGLES)
    expected = propose(EmbeddingProposer(glove), "the dog slept", "dog")
    for name in ("with_list", "with_table"):
        folder = tmp_path / name
        folder.mkdir()
        np.save(folder / "v.npy", np.array([vector(a) for a in ANGLES.values()], dtype=np.float16))
        if name == "with_list":
            (folder / "v.txt").write_text("\n".join(words), encoding="utf-8")
        else:
            pytest.importorskip("pyarrow")
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({"number": range(len(words)), "index": words}), folder / "index.parquet")
        proposer = load_proposer(f"embedding:{folder / 'v.npy'}")
        assert isinstance(proposer, EmbeddingProposer)
        assert propose(proposer, "the dog slept", "dog") == expected


def test_word2vec_header_is_passed_over(glove: Path, tmp_path: Path) -> None:
    path = tmp_path / "w2v.txt"
    path.write_text("14 2\n" + glove.read_text(encoding="utf-8"), encoding="utf-8")
    words, vectors = read_vectors(path, 5)
    assert words == ("the", "dog", "hound", "dogs", "cat")
    assert vectors.shape == (5, 2)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dog 1 2\ncat 1\n", "line 2: expected a word and 2 numbers with single spaces"),
        ("dog one two\n", "line 1: expected a word and some numbers"),
        ("dog 1 nan\n", "expected finite numbers, got NaN or infinity"),
        ("", r"expected a matrix of words and numbers, got \(0, 0\)"),
    ],
)
def test_broken_text_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        EmbeddingProposer(path)


def test_tokens_with_spaces_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("dog 1 0.1\n. . . 0 1\nat name@domain.com 0 1\ncat 1 0.2\n", encoding="utf-8")
    assert propose(EmbeddingProposer(path), "the dog slept", "dog") == ["cat"]


def test_broken_matrices(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read the word vectors .*No such file"):
        EmbeddingProposer(tmp_path / "absent.txt")
    path = tmp_path / "v.npy"
    path.write_bytes(b"no numpy file")
    with pytest.raises(DataError, match="not a plain NumPy file"):
        EmbeddingProposer(path)
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="not a plain NumPy file"):
        EmbeddingProposer(path)
    np.save(path, np.ones((3, 2)))
    with pytest.raises(DataError, match=r"in v\.txt \(or the only \.parquet file beside it\), found neither"):
        EmbeddingProposer(path)
    (tmp_path / "v.txt").write_text("dog\ncat\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"one row for each of 2 words, got float64 of shape \(3, 2\)"):
        EmbeddingProposer(path)


def test_version_and_pickling(glove: Path, tmp_path: Path) -> None:
    proposer = EmbeddingProposer(glove)
    assert (
        proposer.version == EmbeddingProposer(glove).version != EmbeddingProposer(glove, max_words=3).version
    )
    again = pickle.loads(pickle.dumps(proposer))
    assert propose(again, "the dog slept", "dog") == propose(proposer, "the dog slept", "dog")
