"""Export the linear model of alt-profanity-check into the plain arrays of the embedded victim.

    pip install alt-profanity-check==1.9.1
    python benchmarks/export_profanity_victim.py --out rif_plugins/victims/data/profanity.npz

The package keeps its model as joblib files; importing it reads them.  That happens only here: the
arrays written by this script are what the package ships.  The licence text is written beside them.
"""

from __future__ import annotations

import argparse
from importlib import metadata
from pathlib import Path

import numpy as np
from profanity_check import profanity_check as published

from rif_plugins.victims.embedded import LABEL_NAMES
from rif_plugins.victims.tfidf import TOKEN_PATTERN, TfidfLinearModel

EXPECTED = {
    "analyzer": "word",
    "binary": False,
    "lowercase": True,
    "ngram_range": (1, 1),
    "norm": "l2",
    "stop_words": "english",
    "strip_accents": None,
    "sublinear_tf": False,
    "token_pattern": TOKEN_PATTERN,
    "use_idf": True,
}


def main() -> None:
    """Read the published model, check its settings, write the arrays and the licence."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--out", type=Path, required=True, help="the .npz file to write")
    args = parser.parse_args()

    vectorizer, model = published.vectorizer, published.model
    settings = vectorizer.get_params()
    for name, expected in EXPECTED.items():
        if settings[name] != expected:
            raise SystemExit(f"vectorizer: expected {name}={expected!r}, got {settings[name]!r}")
    if list(model.classes_) != [0, 1] or model.method != "sigmoid":
        raise SystemExit(f"expected classes [0, 1] with sigmoid calibration, got {model}")

    folds = model.calibrated_classifiers_
    exported = TfidfLinearModel(
        words=tuple(sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)),
        idf=np.asarray(vectorizer.idf_),
        coefficients=np.concatenate([fold.estimator.coef_ for fold in folds]),
        intercepts=np.concatenate([fold.estimator.intercept_ for fold in folds]),
        slopes=np.asarray([fold.calibrators[0].a_ for fold in folds]),
        offsets=np.asarray([fold.calibrators[0].b_ for fold in folds]),
        label_names=LABEL_NAMES,
        source=f"alt-profanity-check {metadata.version('alt-profanity-check')} (MIT)",
    )
    exported.save(args.out)

    files = metadata.files("alt-profanity-check") or []
    licence = next(file for file in files if file.name == "LICENSE")
    args.out.with_name("profanity_LICENSE.txt").write_text(licence.read_text(), encoding="utf-8")
    print(f"{args.out}: {len(exported.words)} words, {len(folds)} models, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
