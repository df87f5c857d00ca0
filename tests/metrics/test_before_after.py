"""Before and after, by hand."""

from __future__ import annotations

import pytest
from fakes.run_records import failed_example, skipped, sweep

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.metrics.before_after import Change, changes, rate_counts


def records(finals: list[str], cleans: list[str] | None = None) -> list[Record]:
    cleans = cleans or ["TF"] * len(finals)
    return [
        record
        for number, (clean, final) in enumerate(zip(cleans, finals, strict=True))
        for record in sweep(clean, final, example=f"e{number}")
    ]


def by_name(found: tuple[Change, ...]) -> dict[str, Change]:
    return {change.name: change for change in found}


def test_rates_and_difference() -> None:
    before = records(["TB TF TF", "TB TF TF", "TF TF TF", "TF TF TF"])
    after = records(["TB TF TF", "TF TF TF", "TF TF TF", "TF TF TF"])
    change = by_name(changes([before], [after]))["robust_biased.induced_rate"]
    assert (change.before, change.after, change.difference) == (0.5, 0.25, -0.25)
    assert (change.n_before, change.n_after) == (4, 4)
    assert change.low is not None and change.high is not None
    assert change.low < change.difference < change.high


def test_denominators_are_those_of_each_model() -> None:
    before = records(["TB TF TF", "FF FF FF"], ["TF", "FF"])
    after = records(["TF TF TF", "TF TF TF"], ["TF", "TF"])
    found = by_name(changes([before], [after]))
    induced = found["robust_biased.induced_rate"]
    assert (induced.before, induced.n_before, induced.after, induced.n_after) == (1.0, 1, 0.0, 2)
    natural = found["unrobust_fair.natural_rate"]
    assert (natural.before, natural.after) == (0.5, 0.0)
    accuracy = found["clean_accuracy"]
    assert (accuracy.before, accuracy.after) == (0.5, 1.0)


def test_seeds_are_averaged() -> None:
    before = records(["TB TF TF"] * 4)
    one = records(["TB TF TF"] * 2 + ["TF TF TF"] * 2)
    two = records(["TF TF TF"] * 4)
    change = by_name(changes([before], [one, two]))["robust_biased.induced_rate"]
    assert change.by_seed == (0.5, 0.0)
    assert change.after == 0.25
    assert change.spread == pytest.approx(0.35355339)


def test_no_difference_is_not_clear_and_a_certain_one_is() -> None:
    same = records(["TB TF TF", "TF TF TF"] * 10)
    none = records(["TF TF TF"] * 20)
    every = records(["TB TF TF"] * 20)
    unchanged = by_name(changes([same], [same]))["robust_biased.induced_rate"]
    assert (unchanged.difference, unchanged.low, unchanged.high, unchanged.is_clear) == (0, 0, 0, False)
    changed = by_name(changes([every], [none]))["robust_biased.induced_rate"]
    assert (changed.low, changed.high, changed.is_clear) == (-1.0, -1.0, True)


def test_a_single_example_has_no_interval() -> None:
    change = by_name(changes([records(["TB TF TF"])], [records(["TF TF TF"])]))["robust_biased.found_rate"]
    assert (change.low, change.high, change.is_clear) == (None, None, False)


def test_skipped_and_failed_examples_count_nowhere() -> None:
    counts = rate_counts([*records(["TB TF TF"]), skipped("s"), failed_example("f")])
    assert counts["robust_biased.found_rate"] == {"e0": (1.0, 1.0)}
    assert counts["clean_accuracy"] == {"e0": (1.0, 1.0)}


def test_further_rates_can_be_given() -> None:
    given = {"clean_accuracy": ([{"a": (1.0, 1.0), "b": (0.0, 1.0)}], [{"a": (1.0, 1.0), "b": (1.0, 1.0)}])}
    change = by_name(changes([records(["TB TF TF"])], [records(["TF TF TF"])], extra=given))["clean_accuracy"]
    assert (change.before, change.after, change.n_before) == (0.5, 1.0, 2)


def test_the_interval_does_not_depend_on_the_order_of_records() -> None:
    before = records(["TB TF TF", "TF TF TF", "TF FF TF", "TB TF FB"])
    after = records(["TF TF TF", "TF TF TF", "TF FF TF", "TF TF FB"])
    assert changes([before], [after]) == changes([before[::-1]], [after[::-1]])


def test_mistakes_are_named() -> None:
    with pytest.raises(UsageError, match="expected records of one seed or more on both sides"):
        changes([records(["TF TF TF"])], [])
    with pytest.raises(UsageError, match="no example was evaluated"):
        changes([[skipped("a")]], [[skipped("a")]])
