"""Small victims with gradients, built on the spot: a random BERT and a linear bag of embeddings."""

from __future__ import annotations

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

_TEXT = """
he she cooked a good fine decent great meal dinner supper awful terrible gruesome the man woman
un ##like ##ly ##ness said . , to him her and very nice poor was
"""
WORDS = tuple(_TEXT.split())
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tiny_tokenizer(max_length: int = 32) -> transformers.PreTrainedTokenizerFast:
    """A lower-casing WordPiece tokenizer over ``WORDS``."""
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    inner = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=max_length,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def tiny_bert(n_labels: int = 2, seed: int = 0) -> transformers.BertForSequenceClassification:
    """A random BERT classifier of two small layers, in double precision and in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.BertForSequenceClassification(
            transformers.BertConfig(
                vocab_size=len(SPECIAL) + len(WORDS),
                hidden_size=16,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=24,
                max_position_embeddings=32,
                num_labels=n_labels,
                initializer_range=0.5,
            )
        )
    return model.double().eval()


LINEAR_WORDS = {
    "<pad>": (0.0, 0.0),
    "<unk>": (0.0, 0.0),
    "he": (0.2, 0.0),
    "she": (-1.0, 0.1),
    "cooked": (0.1, 0.3),
    "a": (0.0, 0.0),
    "good": (1.5, 0.0),
    "fine": (0.8, 0.2),
    "decent": (1.1, 0.5),
    "great": (2.5, -0.5),
    "meal": (0.1, 0.0),
    "dinner": (0.1, 0.1),
    "supper": (0.0, -1.0),
    "prepared": (0.3, 0.2),
}
LINEAR_HEAD = (1.0, -0.5)


class LinearTokenizer:
    """Words at spaces, padded to 12 ids; says where they stand."""

    length = 12

    def __init__(self) -> None:
        self.numbers = {word: number for number, word in enumerate(LINEAR_WORDS)}

    def __call__(self, texts: list[str]) -> list[list[int]]:
        rows = [[self.numbers.get(w.strip(".").lower(), 1) for w in text.split()] for text in texts]
        return [(row + [0] * self.length)[: self.length] for row in rows]

    def offsets(self, texts: list[str]) -> list[list[tuple[int, int]]]:
        found = []
        for text in texts:
            spans, position = [], 0
            for word in text.split():
                start = text.index(word, position)
                position = start + len(word)
                spans.append((start, start + len(word.rstrip("."))))
            found.append((spans + [(0, 0)] * self.length)[: self.length])
        return found


class LinearVictim(torch.nn.Module):
    """``z = h . sum of embeddings``, logits (0, z): every gradient is ``(p - y) h``.

    ``is_turned``: hand the ids to the embedding with time first, as some recurrent models do.
    """

    def __init__(self, is_turned: bool = False) -> None:
        super().__init__()
        table = torch.tensor(list(LINEAR_WORDS.values()), dtype=torch.float64)
        self.embedding = torch.nn.Embedding.from_pretrained(table, freeze=True)
        self.head = torch.nn.Parameter(torch.tensor(LINEAR_HEAD, dtype=torch.float64))
        self.is_turned = is_turned

    def get_input_embeddings(self) -> torch.nn.Embedding:
        return self.embedding

    def forward(self, ids):
        vectors = self.embedding(ids.t()).transpose(0, 1) if self.is_turned else self.embedding(ids)
        z = (vectors.sum(dim=1) * self.head).sum(dim=1)
        return torch.stack([torch.zeros_like(z), z], dim=1)
