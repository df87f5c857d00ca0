"""The model is a tiny BERT with random weights; what it finds likely is read off its logits."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from rif_plugins.errors import UsageError
from rif_plugins.proposers import MaskedLMProposer, RankedProposer, TokenContext, load_proposer
from rif_plugins.proposers.composite import Ranker
from rif_plugins.proposers.stored import StoredProposer

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

WORDS = (
    *("the", "a", "dog", "cat", "hound", "cats", "dogs", "film", "movie", "story", "good", "great", "bad"),
    *("funny", "quickly", "run", "runs", "ran", "walk", "sang", "not", "seven", "woman", "her", "is", "was"),
    *("very", "we", "saw", "and", "paris", "7", "x"),
)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["##ly", "##film", "puz", "##zle"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny_mlm")
    vocabulary = [*SPECIAL, *WORDS, *PIECES, ".", ","]
    (path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(path / "vocab.txt"), model_max_length=32)
    tokenizer.save_pretrained(path)
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    transformers.BertForMaskedLM(config).save_pretrained(path)
    return path


def at(text: str, token: str) -> TokenContext:
    start = text.index(token)
    return TokenContext(text, start, start + len(token))


def oracle(folder: Path, masked: str) -> list[str]:
    """The vocabulary by probability, straight from the model."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    inputs = tokenizer(masked, return_tensors="pt")
    place = int((inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0])
    with torch.inference_mode():
        order = model(**inputs).logits[0, place].argsort(descending=True)
    return [str(piece) for piece in tokenizer.convert_ids_to_tokens(order.tolist())]


def propose(folder: Path, text: str, token: str, **options: object) -> list[str]:
    proposer = MaskedLMProposer(str(folder), top_k=99, floor=0.0, max_candidates=None, **options)  # type: ignore[arg-type]
    (found,) = proposer.propose([at(text, token)])
    assert {candidate.source for candidate in found} <= {f"masked-lm:{Path(folder).name}"}
    return [candidate.text for candidate in found]


def test_whole_words_of_the_right_form_by_probability(folder: Path) -> None:
    likely = oracle(folder, "we saw the [MASK].")
    singular = ("cat", "hound", "film", "movie", "story", "woman")
    found = propose(folder, "we saw the dog.", "dog", protected=lambda word: word == "woman")
    assert set(singular) - {"woman"} <= set(found)
    assert found == [word for word in likely if word in found]
    # Another inflection, other kinds of words, pieces, function words, numbers and the token itself.
    assert {"cats", "dogs", "sang", "quickly", "ly", "the", "not", "seven", "7", "dog", "woman"}.isdisjoint(
        found
    )
    assert set(propose(folder, "we saw the dogs.", "dogs")) == {"cats", "runs"}


def test_a_token_in_several_pieces_is_masked_once(folder: Path) -> None:
    likely = oracle(folder, "the [MASK] is good")
    found = propose(folder, "the puzzle is good", "puzzle")
    assert found == [word for word in likely if word in found]
    assert {"cat", "film"} <= set(found)


def test_case_clitic_and_guard(folder: Path) -> None:
    assert "Cat" in propose(folder, "Dog runs.", "Dog")
    assert "CAT" in propose(folder, "A DOG RAN", "DOG")
    assert "cat's" in propose(folder, "the dog's film", "dog's")
    for text, token in (("we saw Paris", "Paris"), ("it is not good", "not"), ("the dog", "the")):
        assert propose(folder, text, token) == []


def test_the_floor_and_the_number_looked_at(folder: Path) -> None:
    text = "we saw the dog."
    everything = propose(folder, text, "dog")
    none = MaskedLMProposer(str(folder), floor=0.99)
    assert none.propose([at(text, "dog")]) == [()]
    first = oracle(folder, "we saw the [MASK].")[:12]
    few = MaskedLMProposer(str(folder), top_k=12, floor=0.0, max_candidates=None)
    assert [c.text for c in few.propose([at(text, "dog")])[0]] == [w for w in everything if w in first]


def test_answers_do_not_depend_on_what_is_asked_together(folder: Path) -> None:
    texts = [
        "we saw the dog.",
        "a very good film and a story",
        "the funny dog ran quickly",
        "we saw the dog and a cat",
    ]
    contexts = [at(text, token) for text, token in zip(texts, ("dog", "film", "funny", "cat"), strict=True)]
    together = MaskedLMProposer(str(folder), floor=0.0, batch_size=3).propose(contexts * 2)
    alone = [MaskedLMProposer(str(folder), floor=0.0).propose([context])[0] for context in contexts]
    assert together == alone * 2


def test_long_texts_keep_the_neighbourhood(folder: Path) -> None:
    near = "the cat ran and the dog runs and a cat sang"
    far = "x " * 300
    long = propose(folder, f"{far}{near} {far}", "dog")
    assert long and set(long) == set(propose(folder, near, "dog"))


def test_fit_is_relative_to_the_token(folder: Path) -> None:
    proposer = MaskedLMProposer(str(folder))
    assert isinstance(proposer, Ranker)
    text = "we saw the dog."
    ((own, cat, phrase, pieces),) = proposer.fits([(at(text, "dog"), ["dog", "cat", "hot dog", "puzzle"])])
    assert own == pytest.approx(1.0)
    assert phrase is None and pieces is None
    likely = oracle(folder, "we saw the [MASK].")
    assert cat is not None and (cat > 1) == (likely.index("cat") < likely.index("dog"))
    assert proposer.fits([]) == []
    ((best, other),) = proposer.fits([(at("the puzzle", "puzzle"), ["cat", "dog"])])
    assert best is not None and other is not None and max(best, other) <= 1


def test_ranked_by_a_masked_model(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("token,candidate\ndog,hot dog\ndog,cat\ndog,hound\n", encoding="utf-8")
    ranked = load_proposer(f"table:{table}&masked-lm:{folder}")
    assert isinstance(ranked, RankedProposer)
    ranked.least = 0.0
    likely = [word for word in oracle(folder, "we saw the [MASK].") if word in ("cat", "hound")]
    assert [c.text for c in ranked.propose([at("we saw the dog.", "dog")])[0]] == [*likely, "hot dog"]


def test_version_settings_and_store(folder: Path) -> None:
    proposer = MaskedLMProposer(str(folder))
    assert proposer.version.startswith("sha256:") and len(proposer.version) == 19
    assert json.loads(proposer.settings)[:2] == [50, 0.001]
    assert proposer.settings != MaskedLMProposer(str(folder), top_k=9).settings
    stored = StoredProposer(proposer, MemoryStore())
    assert stored.is_storing


class MemoryStore(dict[bytes, bytes]):
    def get_many(self, keys):  # type: ignore[no-untyped-def]
        return [self.get(key) for key in keys]

    def set_many(self, values):  # type: ignore[no-untyped-def]
        self.update(values)


def test_a_loaded_proposer_is_asked_once_for_a_token_and_never_again_with_a_store(folder: Path) -> None:
    store, context = MemoryStore(), at("we saw the dog.", "dog")
    first = load_proposer(f"masked-lm:{folder}", store=store).propose([context, context])
    assert len(store) == 1 and first[0] == first[1]
    again = load_proposer(f"masked-lm:{folder}", store=store)
    inside = again.proposer  # type: ignore[attr-defined]
    assert again.propose([context]) == first[:1]
    assert (inside.n_calls, inside.stored_hits) == (0, 1)


def test_it_pickles_without_the_model(folder: Path) -> None:
    proposer = MaskedLMProposer(str(folder), floor=0.0)
    context = at("we saw the dog.", "dog")
    found = proposer.propose([context])
    dumped = pickle.dumps(proposer)
    assert len(dumped) < 5_000
    assert pickle.loads(dumped).propose([context]) == found


def test_what_cannot_be_used_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected masked-lm:NAME or masked-lm:FOLDER, got nothing"):
        MaskedLMProposer("")
    with pytest.raises(UsageError, match="top_k and batch_size must be at least 1, got 0 and 32"):
        MaskedLMProposer("x", top_k=0)
    with pytest.raises(UsageError, match="floor must be at least 0 and below 1, got 1"):
        MaskedLMProposer("x", floor=1)
    context = at("a dog", "dog")
    with pytest.raises(UsageError, match="no such folder: give a folder or a hub name"):
        MaskedLMProposer(str(tmp_path / "absent")).propose([context])
    with pytest.raises(UsageError, match="expected a folder or hub name of a masked language model, got"):
        MaskedLMProposer(str(tmp_path)).propose([context])


def test_a_model_without_a_trained_head_is_refused(folder: Path, tmp_path: Path) -> None:
    model = transformers.AutoModel.from_pretrained(folder)
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    with pytest.raises(
        UsageError, match=r"lacks trained weights for cls\.\S+: expected a masked language model"
    ):
        MaskedLMProposer(str(tmp_path)).propose([at("a dog", "dog")])
