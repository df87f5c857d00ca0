"""Train a TF-IDF + logistic regression sentiment classifier on SST-2.

    python benchmarks/sst2_victims/tfidf.py --data-dir DATA --out sst2_tfidf.npz

Word 1- and 2-grams, a few seconds, deterministic. The result is a file of plain arrays that
``rif_plugins.victims.TfidfLinearModel`` reads without scikit-learn; figures go to a JSON file beside it.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sst2 import SPLITS, add_data_dir, read_split

from rif_plugins.victims import TfidfLinearModel


def train(texts: list[str], labels: list[int], regularisation: float) -> TfidfLinearModel:
    """Fit vectoriser and classifier; logistic regression is the calibration with slope -1, offset 0."""
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    classifier = LogisticRegression(C=regularisation, max_iter=1000)
    classifier.fit(vectorizer.fit_transform(texts), labels)
    return TfidfLinearModel(
        words=tuple(str(word) for word in vectorizer.get_feature_names_out()),
        idf=np.asarray(vectorizer.idf_, dtype=np.float64),
        coefficients=np.asarray(classifier.coef_, dtype=np.float64),
        intercepts=np.asarray(classifier.intercept_, dtype=np.float64),
        slopes=np.array([-1.0]),
        offsets=np.array([0.0]),
        label_names=("negative", "positive"),
        max_ngram=2,
        source="TF-IDF (1-2 grams) + logistic regression, SST-2 train",
    )


def main() -> None:
    """Train, measure, save."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    add_data_dir(parser)
    parser.add_argument("--out", type=Path, default=Path("sst2_tfidf.npz"), help="the .npz file to write")
    parser.add_argument("--regularisation", type=float, default=4.0, help="scikit-learn's C (default 4)")
    args = parser.parse_args()

    start = time.perf_counter()
    data = {split: read_split(args.data_dir, split) for split in SPLITS}
    model = train(*data["train"], args.regularisation)
    accuracy = {
        split: float(np.mean(model(texts).argmax(axis=1) == np.asarray(labels)))
        for split, (texts, labels) in data.items()
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    model.save(args.out)
    record = {
        "model": model.source,
        "regularisation": args.regularisation,
        "n_features": len(model.words),
        "accuracy": accuracy,
        "seconds": round(time.perf_counter() - start, 1),
        "bytes": args.out.stat().st_size,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
    }
    args.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
