"""Fit a :class:`~rif_plugins.victims.tfidf.TfidfLinearModel` with scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rif_plugins.errors import UsageError
from rif_plugins.optional import require
from rif_plugins.victims.tfidf import TfidfLinearModel


def fit_tfidf(
    texts: Sequence[str],
    labels: Sequence[int],
    weights: Sequence[float] | None = None,
    *,
    label_names: tuple[str, str] = ("0", "1"),
    regularisation: float = 4.0,
    source: str = "TF-IDF (1-2 grams) + logistic regression",
) -> TfidfLinearModel:
    """Word 1- and 2-grams and logistic regression; deterministic.

    Args:
        texts: Training texts.
        labels: 0 or 1.
        weights: Weight of each row in the loss; None weighs all alike.
        label_names: Names of the two classes.
        regularisation: Inverse strength of the penalty, scikit-learn's ``C``.
        source: Where the numbers come from, for run records.

    Raises:
        UsageError: There are not exactly two classes, or no n-gram occurs twice.
        MissingDependencyError: scikit-learn is not installed.
    """
    require("sklearn", purpose="fitting a TF-IDF classifier")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    if set(labels) != {0, 1}:
        raise UsageError(
            "a TF-IDF linear classifier has the classes 0 and 1, got training labels "
            f"{sorted(set(labels))[:5]}: use a file.py with a function `fit` for other classes"
        )
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise UsageError(
            f"the training texts have no word that occurs twice ({error}): give more data"
        ) from error
    classifier = LogisticRegression(C=regularisation, max_iter=1000)
    classifier.fit(features, labels, sample_weight=None if weights is None else np.asarray(weights))
    return TfidfLinearModel(
        words=tuple(str(word) for word in vectorizer.get_feature_names_out()),
        idf=np.asarray(vectorizer.idf_, dtype=np.float64),
        coefficients=np.asarray(classifier.coef_, dtype=np.float64),
        intercepts=np.asarray(classifier.intercept_, dtype=np.float64),
        slopes=np.array([-1.0]),
        offsets=np.array([0.0]),
        label_names=label_names,
        max_ngram=2,
        source=source,
    )
