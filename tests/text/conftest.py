from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def build() -> Callable:
    """Build an attack of the small world; see ``fakes.text_world``."""
    from fakes.text_world import KeywordWrapper, ScriptedScorer, TableWords
    from textattack import Attack

    from rif_plugins.text.constraints import BidirectionalEntailment, SensitiveTokenProtection
    from rif_plugins.text.goal_functions import RobustBiased
    from rif_plugins.text.search_methods import DecoupledPairSearch
    from rif_plugins.text.transformations import ProposedWordSwap

    def make(
        wrapper=None,
        goal=RobustBiased,
        refused=(),
        search=None,
        constraints=(),
        transformation=None,
        **options,
    ):
        wrapper = wrapper or KeywordWrapper()
        chosen = [
            SensitiveTokenProtection(),
            BidirectionalEntailment(ScriptedScorer(refused)),
            *constraints,
        ]
        return Attack(
            goal(wrapper, **options),
            chosen,
            transformation or ProposedWordSwap(TableWords()),
            search or DecoupledPairSearch(),
        )

    return make
