"""Proposer and ranker over a masked language model of transformers: what could stand in this place?"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.errors import UsageError
from rif_plugins.optional import require
from rif_plugins.proposers.agreement import agrees
from rif_plugins.proposers.base import DEFAULT_MAX_CANDIDATES, BaseProposer, Candidate, TokenContext
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.fitting import keeps_script, without_clitic

_PURPOSE = "masked language models"
_CONTEXT_CHARACTERS = 400
_MOST_KEPT = 128  # rows of the size of the vocabulary
_WORD = re.compile(r"[^\W\d_]{2,}")
_WORD_MARKS = ("Ġ", "▁")  # byte-level and sentence-piece vocabularies mark where a word begins
_CONTINUATION = "##"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class MaskedLMProposer(BaseProposer):
    """The likeliest words for the place of a token, from a masked language model.

    The token is masked as one, however many pieces the vocabulary cuts it into. Candidates are whole words of
    the vocabulary in a part of speech and inflection that the token can have there; function words, names,
    numbers and negations are neither replaced nor written. The model knows what fits, not what means the
    same: *good* fits where *bad* stands, so a filter has to follow, or the form ``wordnet&masked-lm:NAME``.

    Loads on first use and pickles as its settings. Answers do not depend on what is asked together.

    Args:
        source: Folder or hub name.
        top_k: Look at this many words of the vocabulary a token.
        floor: Least probability of a candidate.
        batch_size: Places of one model call.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.
        device: Torch device; None takes CUDA where there is one.

    Raises:
        UsageError: A number is out of range.
    """

    def __init__(
        self,
        source: str,
        *,
        top_k: int = 50,
        floor: float = 0.001,
        batch_size: int = 32,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
        device: str | None = None,
    ) -> None:
        """Check the settings; nothing is loaded yet."""
        super().__init__(max_candidates=max_candidates, protected=protected)
        if not source:
            raise UsageError(
                "masked-lm: needs a model: expected masked-lm:NAME or masked-lm:FOLDER, got nothing"
            )
        if top_k < 1 or batch_size < 1:
            raise UsageError(f"top_k and batch_size must be at least 1, got {top_k} and {batch_size}")
        if not 0 <= floor < 1:
            raise UsageError(f"floor must be at least 0 and below 1, got {floor}")
        folder = Path(source).expanduser()
        # Records name it, and they should not tell where it lies.
        self.name = f"masked-lm:{folder.name if folder.is_dir() else source}"
        self.source = source
        self.top_k = top_k
        self.floor = floor
        self.batch_size = batch_size
        self.device = device
        self._loaded: _Model | None = None
        self._known: OrderedDict[TokenContext, Any] = OrderedDict()

    @property
    def version(self) -> str:
        """Hub commit, or the first 12 digits of the SHA-256 of a local model's weights."""
        return self._model().version

    @property
    def settings(self) -> str:
        """What decides the candidates besides the weights, for stores."""
        return json.dumps([self.top_k, self.floor, _CONTEXT_CHARACTERS])

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Likeliest words first."""
        asked = [context for context in contexts if _is_askable(context.token)]
        rows = dict(zip(asked, self._log_probabilities(asked), strict=True)) if asked else {}
        return [self._candidates(c, rows[c]) if c in rows else () for c in contexts]

    def fits(self, asked: Sequence[tuple[TokenContext, Sequence[str]]]) -> list[list[float | None]]:
        """How likely each word is in the token's place, relative to the token; see ``Ranker``.

        Where the vocabulary cuts the token itself into pieces, relative to the likeliest word. None for what
        is no whole word of the vocabulary, such as a phrase.
        """
        rows = self._log_probabilities([context for context, _ in asked]) if asked else []
        return [self._fits(c, texts, row) for (c, texts), row in zip(asked, rows, strict=True)]

    def _fits(self, context: TokenContext, texts: Sequence[str], row: Any) -> list[float | None]:
        model = self._model()
        of_token = model.place_of(without_clitic(context.token)[0])
        base = float(row.max()) if of_token is None else float(row[of_token])
        places = [model.place_of(without_clitic(text)[0]) for text in texts]
        return [None if p is None else math.exp(min(50.0, float(row[p]) - base)) for p in places]

    def _candidates(self, context: TokenContext, row: Any) -> Iterator[Candidate]:
        model, (stem, clitic) = self._model(), without_clitic(context.token)
        pattern = case_pattern(stem)
        limit = math.log(self.floor) if self.floor else -math.inf
        for place in model.best(row, self.top_k):
            if float(row[place]) < limit:
                return
            word = model.words[place]
            if not word or word.lower() in FUNCTION_WORDS or not keeps_script(stem, word):
                continue
            if agrees(context, word, is_possessive=bool(clitic)):
                yield Candidate(fit_case(pattern, word) + clitic, self.name)

    def _log_probabilities(self, contexts: Sequence[TokenContext]) -> list[Any]:
        """Log-probabilities of the vocabulary, one row a context."""
        new = [context for context in dict.fromkeys(contexts) if context not in self._known]
        found = {c: self._known[c] for c in contexts if c in self._known}
        if new:
            model = self._model()
            for context, row in zip(new, model.log_probabilities(new, self.batch_size), strict=True):
                found[context] = self._known[context] = row
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return [found[context] for context in contexts]

    def _model(self) -> _Model:
        if self._loaded is None:
            self._loaded = _Model(self.source, self.device)
        return self._loaded

    def __repr__(self) -> str:
        return f"MaskedLMProposer({self.source!r}, top_k={self.top_k}, max_candidates={self.max_candidates})"

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: the model is loaded again in the other process."""
        return {**self.__dict__, "_loaded": None, "_known": OrderedDict()}


class _Model:
    """Model, tokenizer and the words of the vocabulary.

    Attributes:
        words: By id; ``""`` for pieces, marks, numbers and special tokens.
        version: See :attr:`MaskedLMProposer.version`.
    """

    def __init__(self, source: str, device: str | None) -> None:
        transformers = require("transformers", purpose=_PURPOSE)
        self._torch = require("torch", purpose=_PURPOSE)
        folder = Path(source).expanduser()
        if not folder.is_dir() and (source.startswith((".", "~")) or folder.is_absolute()):
            raise UsageError(f"masked-lm:{source}: no such folder: give a folder or a hub name")
        place = str(folder) if folder.is_dir() else source
        is_safe = not folder.is_dir() or any(folder.glob("*.safetensors"))
        if not is_safe and any(folder.glob("*.bin")):
            warnings.warn(
                f"masked-lm:{source} has no safetensors: its weights are pickle files, which can run code; "
                "load only models that you trust",
                UserWarning,
                stacklevel=4,
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
                model, info = transformers.AutoModelForMaskedLM.from_pretrained(
                    place, output_loading_info=True, trust_remote_code=False, use_safetensors=is_safe or None
                )
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            raise UsageError(
                f"cannot load masked-lm:{source}: expected a folder or hub name of a masked language model, "
                f"got {reason}"
            ) from error
        _refuse_without_head(source, self._tokenizer, info)
        self._model = model.eval().to(device or ("cuda" if self._torch.cuda.is_available() else "cpu"))
        self.version = _version(model.config, folder)
        pieces = self._tokenizer.convert_ids_to_tokens(list(range(model.config.vocab_size)))
        is_marked = sum(str(piece).startswith(_WORD_MARKS) for piece in pieces) > len(pieces) // 20
        special = set(self._tokenizer.all_special_tokens)
        self.words = ["" if piece in special else _whole_word(piece, is_marked) for piece in pieces]
        self._places: dict[str, int] = {}
        for number, word in enumerate(self.words):
            if word:
                self._places.setdefault(word, number)

    def place_of(self, word: str) -> int | None:
        """Where a word stands in the vocabulary, as written or in lower case."""
        return self._places.get(word, self._places.get(word.lower()))

    def best(self, row: Any, number: int) -> list[int]:
        """The likeliest places; of equal ones the first."""
        order = self._torch.sort(row, descending=True, stable=True).indices[:number]
        return [int(place) for place in order]

    def log_probabilities(self, contexts: Sequence[TokenContext], batch_size: int) -> list[Any]:
        """One float64 row over the vocabulary a context, (vocabulary,)."""
        ids = [self._masked(context) for context in contexts]
        rows: list[Any] = [None] * len(ids)
        # Texts of one length need no padding, so that no row depends on its batch.
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        with self._torch.inference_mode():
            while order:
                size = len(ids[order[0]])
                batch = [i for i in order[:batch_size] if len(ids[i]) == size]
                order = order[len(batch) :]
                tokens = self._torch.tensor([ids[i] for i in batch], device=self._model.device)
                logits = self._model(input_ids=tokens, attention_mask=self._torch.ones_like(tokens)).logits
                at = (tokens == self._tokenizer.mask_token_id).int().argmax(dim=1)
                found = self._torch.log_softmax(logits[range(len(batch)), at].double(), dim=-1).cpu()
                for i, row in zip(batch, found, strict=True):
                    rows[i] = row
        return rows

    def _masked(self, context: TokenContext) -> list[int]:
        """Token ids of the neighbourhood, the token as one mask, cut to what the model takes."""
        text, (stem, _) = context.text, without_clitic(context.token)
        end = context.start + len(stem)
        left = self._ids(text[max(0, context.start - _CONTEXT_CHARACTERS) : context.start])
        right = self._ids(text[end : end + _CONTEXT_CHARACTERS])
        room = self._limit() - self._tokenizer.num_special_tokens_to_add() - 1
        n_right = min(len(right), max(room // 2, room - len(left)))
        n_left = min(len(left), room - n_right)
        ids = [*left[len(left) - n_left :], self._tokenizer.mask_token_id, *right[:n_right]]
        built: list[int] = self._tokenizer.build_inputs_with_special_tokens(ids)
        return built

    def _ids(self, text: str) -> list[int]:
        plain = text.encode("utf-8", "replace").decode("utf-8").replace(self._tokenizer.mask_token, " ")
        found: list[int] = self._tokenizer(plain, add_special_tokens=False, verbose=False)["input_ids"]
        return found

    def _limit(self) -> int:
        positions = int(getattr(self._model.config, "max_position_embeddings", 0) or 512)
        # Some models count positions from behind the padding token.
        return max(8, min(positions - 2, int(self._tokenizer.model_max_length)))


def _whole_word(piece: str, is_marked: bool) -> str:
    if is_marked:
        word = piece[1:] if piece.startswith(_WORD_MARKS) else ""
    else:
        word = "" if piece.startswith(_CONTINUATION) else piece
    return word if _WORD.fullmatch(word) else ""


def _refuse_without_head(source: str, tokenizer: Any, info: dict[str, Any]) -> None:
    missing = [name for name in info.get("missing_keys", ()) if "decoder" not in name]
    if tokenizer.mask_token_id is None or missing:
        lacks = "a mask token" if tokenizer.mask_token_id is None else f"trained weights for {missing[0]}"
        raise UsageError(
            f"masked-lm:{source} lacks {lacks}: expected a masked language model such as "
            "distilbert-base-uncased or roberta-base"
        )


def _version(config: Any, folder: Path) -> str:
    commit = getattr(config, "_commit_hash", None)
    if commit:
        return str(commit)
    for name in _WEIGHTS:
        if (folder / name).is_file():
            with (folder / name).open("rb") as handle:
                digest = hashlib.sha256()
                while block := handle.read(1 << 20):
                    digest.update(block)
            return f"sha256:{digest.hexdigest()[:12]}"
    return "unknown"


def _is_askable(token: str) -> bool:
    stem, _ = without_clitic(token)
    return _WORD.fullmatch(stem.replace("-", "")) is not None and stem.lower() not in FUNCTION_WORDS
