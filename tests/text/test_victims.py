from __future__ import annotations

import pickle

import numpy as np
import pytest

from rif_plugins.errors import VictimError
from rif_plugins.text import host

host.register()

from rif_plugins.text.victims import CallableModelWrapper  # noqa: E402
from rif_plugins.victims import EmbeddedVictim  # noqa: E402


def test_passes_a_list_and_returns_an_array() -> None:
    seen: list[object] = []

    def predict(texts: list[str]) -> list[list[float]]:
        seen.append(texts)
        return [[0.25, 0.75] for _ in texts]

    output = CallableModelWrapper(predict)(("a", "b"), batch_size=1)
    assert seen == [["a", "b"]]
    assert output.tolist() == [[0.25, 0.75], [0.25, 0.75]]


def test_one_sigmoid_becomes_two_columns() -> None:
    wrapper = CallableModelWrapper(lambda texts: np.array([0.25] * len(texts)))
    assert wrapper(["a", "b", "c"]).tolist() == [[0.75, 0.25]] * 3


def test_declared_logits_become_probabilities() -> None:
    wrapper = CallableModelWrapper(lambda texts: [[0.5, 0.5]], output="logits")
    assert wrapper(["a"]).tolist() == [[0.5, 0.5]]
    wrapper = CallableModelWrapper(lambda texts: [[0.0, float(np.log(3.0))]], output="logits")
    assert wrapper(["a"])[0] == pytest.approx([0.25, 0.75])


def test_tensor_with_gradient_is_accepted() -> None:
    torch = pytest.importorskip("torch")
    wrapper = CallableModelWrapper(lambda texts: torch.tensor([[0.25, 0.75]], requires_grad=True))
    assert wrapper(["a"]).tolist() == [[0.25, 0.75]]


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(VictimError, match=r"must be callable.*got str"):
        CallableModelWrapper("model.bin")  # type: ignore[arg-type]


def test_wrong_number_of_rows_is_refused() -> None:
    with pytest.raises(VictimError, match=r"returned shape \(3, 2\) for 2 texts"):
        CallableModelWrapper(lambda texts: [[0.5, 0.5]] * 3)(["a", "b"])


# The host says so, through a deprecated method, of every model that it does not know.
@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")
def test_works_in_the_hosts_own_goal_function() -> None:
    from textattack.goal_functions import UntargetedClassification
    from textattack.shared import AttackedText

    goal = UntargetedClassification(CallableModelWrapper(EmbeddedVictim()))
    result, _ = goal.init_attack_example(AttackedText("You are a stupid idiot."), 1)
    assert result.output == 1
    assert result.raw_output.tolist()[1] > 0.99


def test_pickles_and_names_its_victim() -> None:
    wrapper = pickle.loads(pickle.dumps(CallableModelWrapper(EmbeddedVictim())))
    assert wrapper(["Shut up!"])[0, 1] == pytest.approx(0.981705, abs=1e-6)
    assert repr(wrapper) == "CallableModelWrapper(EmbeddedVictim(alt-profanity-check 1.9.1))"
