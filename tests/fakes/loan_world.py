"""A table of loan applications as a file, and model files for `rif tabular`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

# Granted from 40 years on, for men from 30 on, and never to a cook. P = 0.9 or 0.1, with a slope by age.
FUNCTION = """
import numpy as np

def model(x):
    age, job, sex = x[:, 0], x[:, 1], x[:, 2]
    score = (age + 10 * (sex > 0.5) - 40 + 0.5) / 8 - 20 * (np.abs(job) < 0.5)
    p = 1 / (1 + np.exp(-np.clip(score, -30, 30)))
    return np.stack([1 - p, p], axis=1)

label_names = ["no", "yes"]
"""
PIPELINE = """
from pathlib import Path
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

frame = pd.read_csv(Path(__file__).parent / "loans.csv")
columns = make_column_transformer((OneHotEncoder(), ["job", "sex"]), remainder="passthrough")
model = make_pipeline(columns, DecisionTreeClassifier(max_depth=4, random_state=0))
model.fit(frame[["age", "job", "sex"]], frame["granted"])
"""


def loans(n: int = 60) -> pd.DataFrame:
    """Rows with the label that the function gives; one job is a formula for a spreadsheet."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 61, n),
            "job": draw.choice(["=cook", "nurse"], n, p=[0.2, 0.8]),
            "sex": draw.choice(["female", "male"], n),
        }
    )
    reach = frame["age"] + 10 * (frame["sex"] == "male")
    frame["granted"] = np.where((reach >= 40) & (frame["job"] != "=cook"), "yes", "no")
    return frame


def write(folder: Path, model: str = FUNCTION, n: int = 60) -> tuple[str, str]:
    """``model.py`` and ``loans.csv`` in a folder; their paths."""
    loans(n).to_csv(folder / "loans.csv", index=False)
    (folder / "model.py").write_text(model, encoding="utf-8")
    return str(folder / "model.py"), str(folder / "loans.csv")
