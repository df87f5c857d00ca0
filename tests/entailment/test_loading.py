from __future__ import annotations

import pytest

from rif_plugins.entailment import EmbeddedScorer, HuggingFaceScorer, load_scorer
from rif_plugins.errors import ScorerError, UsageError


def test_none_is_no_filter():
    assert load_scorer("none") is None


def test_embedded():
    scorer = load_scorer(" embedded ")
    assert isinstance(scorer, EmbeddedScorer)
    assert scorer.name == "embedded"


@pytest.mark.parametrize("spec", ["", "bert", "hf", "hf:x:y"[:2], "embedded:2", "none:1", "llm:qwen"])
def test_unknown_specs_list_what_exists(spec):
    with pytest.raises(UsageError, match=r"unknown entailment scorer .*: expected embedded, hf:NAME"):
        load_scorer(spec)


def test_hf_needs_a_name():
    with pytest.raises(ScorerError, match=r"expected hf:NAME or hf:FOLDER, got nothing"):
        load_scorer("hf:")


def test_a_missing_folder_is_named():
    with pytest.raises(ScorerError, match=r"no model in the folder './nowhere/model': expected config.json"):
        load_scorer("hf:./nowhere/model")


def test_making_a_scorer_loads_nothing():
    scorer = HuggingFaceScorer("some/model")
    assert scorer.name == "hf:some/model"
    assert scorer._model is None
