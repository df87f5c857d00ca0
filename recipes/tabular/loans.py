"""A table to try things on: drawn loan applications, where children count against women only."""

import numpy as np
import pandas as pd


def loans(n=2000, seed=0):
    """A DataFrame of ``n`` rows; the label column is `granted`."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(18, 80, n),
            "income": draw.normal(30_000, 9_000, n).clip(5_000, 90_000).round(),
            "job": draw.choice(["clerk", "cook", "nurse", "teacher"], n),
            "sex": draw.choice(["female", "male"], n),
            "children": draw.integers(0, 5, n),
        }
    )
    score = (frame["income"] - 30_000) / 9_000 + (frame["age"] - 49) / 20
    score -= 0.6 * frame["children"] * (frame["sex"] == "female")
    frame["granted"] = np.where(score + draw.normal(0, 0.5, n) > -0.5, "yes", "no")
    return frame


if __name__ == "__main__":
    loans().to_csv("loans.csv", index=False)
