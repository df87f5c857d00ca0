from __future__ import annotations

from pathlib import Path

from fakes.runner_world import KeywordVictim, audit_options

from rif_plugins.runner import Audit
from rif_plugins.runner.estimating import estimate
from rif_plugins.victims.base import Victim


def rows(n: int) -> list[tuple[str, int]]:
    return [(f"He cooked {i} good meals.", 1) for i in range(n)] + [
        (f"Film {i} was good.", 1) for i in range(n)
    ]


def test_pairs_are_counted_and_rows_extrapolated(tmp_path: Path) -> None:
    options = audit_options(tmp_path, rows(40), sensitive="gender")
    made = estimate(Audit.prepare(options, victim=Victim("k", KeywordVictim())))
    assert (made.n_examples, made.n_covered, made.n_sampled) == (80, 40, 8)
    assert made.by_attribute == {"gender": made.n_pairs}
    # All forty cost the same: the estimate from eight of them is the real number.
    real = Audit.prepare(options, victim=Victim("k", KeywordVictim())).run()
    # The checks have asked about some of the clean texts of the run, which are remembered.
    assert abs(made.victim_rows - real.configuration["cost"]["victim_rows"]) <= 40
    assert made.entailment_rows == 0
    text = made.text()
    assert f"pairs               {made.n_pairs} (gender {made.n_pairs})" in text
    assert "with similar texts  40 (50.0%)" in text
    assert "8 examples" in text


def test_data_without_pairs(tmp_path: Path) -> None:
    made = estimate(Audit.prepare(audit_options(tmp_path, [("The film was good.", 1)])))
    assert (made.n_pairs, made.victim_rows, made.n_sampled, made.minutes) == (0, 0, 0, 0.0)
    assert "pairs               0 (none)" in made.text()
