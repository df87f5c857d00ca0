"""Write a trained BERT cross-encoder as ONNX: int8 weights per output channel, float32 arithmetic.

The graph is built by hand, so that nothing depends on a tracer and the int8 table of word embeddings is
looked up before it is made float. Per output channel ``w ≈ scale * q``, ``q`` in [-127, 127].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
_FLOAT = np.float32


class _Graph:
    """Collects nodes and initializers; every method returns the name of its output.

    Weights keep the names they have in the torch model; ``scale`` and ``zero`` stand beside ``weight``.
    """

    def __init__(self, state: Mapping[str, NDArray[Any]], epsilon: float) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._state = state
        self._epsilon = epsilon
        self._number = 0

    def parameter(self, name: str) -> str:
        """A float32 parameter."""
        return self._initializer(self._state[name].astype(_FLOAT), name)

    def constant(self, array: NDArray[Any]) -> str:
        self._number += 1
        return self._initializer(array, f"constant_{self._number}")

    def _initializer(self, array: NDArray[Any], name: str) -> str:
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        self._number += 1
        name = f"{op.lower()}_{self._number}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node_{name}", **attributes))
        return name

    def linear(self, x: str, name: str) -> str:
        """``x @ weight.T + bias`` with ``weight`` (out, in) stored in int8."""
        quantised, scale = quantise(self._state[f"{name}.weight"])
        inputs = [
            self._initializer(quantised.T, f"{name}.weight"),
            self._initializer(scale, f"{name}.scale"),
            self._initializer(np.zeros(len(scale), np.int8), f"{name}.zero"),
        ]
        weight = self.add("DequantizeLinear", inputs, axis=1)
        return self.add("Add", [self.add("MatMul", [x, weight]), self.parameter(f"{name}.bias")])

    def table(self, name: str, rows: str) -> str:
        """Rows of an embedding table, stored in int8, looked up before they are made float."""
        quantised, scale = quantise(self._state[f"{name}.weight"])
        found = self.add("Gather", [self._initializer(quantised, f"{name}.weight"), rows], axis=0)
        scales = self.add("Gather", [self._initializer(scale[:, None], f"{name}.scale"), rows], axis=0)
        return self.add("Mul", [self.add("Cast", [found], to=TensorProto.FLOAT), scales])

    def norm(self, x: str, name: str) -> str:
        parameters = [self.parameter(f"{name}.weight"), self.parameter(f"{name}.bias")]
        return self.add("LayerNormalization", [x, *parameters], axis=-1, epsilon=self._epsilon)


def quantise(weight: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 by row: integers (out, in) and scales (out,)."""
    scale = np.abs(weight).max(axis=1) / 127.0
    scale = np.where(scale == 0.0, 1.0, scale).astype(_FLOAT)
    return np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8), scale


def _embeddings(graph: _Graph) -> str:
    prefix = "bert.embeddings"
    words = graph.table(f"{prefix}.word_embeddings", "input_ids")
    kinds = graph.add(
        "Gather", [graph.parameter(f"{prefix}.token_type_embeddings.weight"), "token_type_ids"], axis=0
    )
    shape = graph.add("Shape", ["input_ids"])
    width = graph.add("Gather", [shape, graph.constant(np.array([1], np.int64))], axis=0)
    zero = graph.constant(np.array([0], np.int64))
    places = graph.add("Slice", [graph.parameter(f"{prefix}.position_embeddings.weight"), zero, width, zero])
    total = graph.add("Add", [graph.add("Add", [words, kinds]), places])
    return graph.norm(total, f"{prefix}.LayerNorm")


def _mask(graph: _Graph) -> str:
    """(batch, 1, 1, width): 0 for tokens, a number that vanishes in the softmax for padding."""
    mask = graph.add("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    mask = graph.add("Unsqueeze", [mask, graph.constant(np.array([1, 2], np.int64))])
    hidden = graph.add("Sub", [graph.constant(np.array(1.0, _FLOAT)), mask])
    return graph.add("Mul", [hidden, graph.constant(np.array(-1e9, _FLOAT))])


def _attention(graph: _Graph, x: str, mask: str, prefix: str, config: Any) -> str:
    hidden, heads = config.hidden_size, config.num_attention_heads
    split = graph.constant(np.array([0, 0, heads, hidden // heads], np.int64))
    parts = []
    for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        projected = graph.linear(x, f"{prefix}.self.{name}")
        parts.append(graph.add("Transpose", [graph.add("Reshape", [projected, split])], perm=order))
    scores = graph.add("MatMul", parts[:2])
    root = graph.constant(np.array(math.sqrt(hidden / heads), _FLOAT))
    weights = graph.add("Softmax", [graph.add("Add", [graph.add("Div", [scores, root]), mask])], axis=-1)
    context = graph.add("Transpose", [graph.add("MatMul", [weights, parts[2]])], perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", [context, graph.constant(np.array([0, 0, hidden], np.int64))])
    return graph.linear(joined, f"{prefix}.output.dense")


def _gelu(graph: _Graph, x: str) -> str:
    erf = graph.add("Erf", [graph.add("Div", [x, graph.constant(np.array(math.sqrt(2.0), _FLOAT))])])
    plus = graph.add("Add", [erf, graph.constant(np.array(1.0, _FLOAT))])
    return graph.add("Mul", [graph.add("Mul", [x, plus]), graph.constant(np.array(0.5, _FLOAT))])


def _layer(graph: _Graph, x: str, mask: str, prefix: str, config: Any) -> str:
    attended = _attention(graph, x, mask, f"{prefix}.attention", config)
    x = graph.norm(graph.add("Add", [attended, x]), f"{prefix}.attention.output.LayerNorm")
    inner = graph.linear(
        _gelu(graph, graph.linear(x, f"{prefix}.intermediate.dense")), f"{prefix}.output.dense"
    )
    return graph.norm(graph.add("Add", [inner, x]), f"{prefix}.output.LayerNorm")


def build(
    state: Mapping[str, NDArray[Any]], config: Any, *, temperature: float = 1.0, metadata: Mapping[str, str]
) -> Any:
    """The ONNX model of a ``BertForSequenceClassification``; logits are divided by ``temperature``."""
    scaled = dict(state)
    for name in ("classifier.weight", "classifier.bias"):
        scaled[name] = state[name] / temperature
    scaled["classifier.weight"] = scaled["classifier.weight"].T
    graph = _Graph(scaled, config.layer_norm_eps)
    x, mask = _embeddings(graph), _mask(graph)
    for number in range(config.num_hidden_layers):
        x = _layer(graph, x, mask, f"bert.encoder.layer.{number}", config)
    first = graph.add("Gather", [x, graph.constant(np.array(0, np.int64))], axis=1)
    pooled = graph.add("Tanh", [graph.linear(first, "bert.pooler.dense")])
    # The last layer is tiny: it stays float32.
    product = graph.add("MatMul", [pooled, graph.parameter("classifier.weight")])
    bias = graph.parameter("classifier.bias")
    graph.nodes.append(helper.make_node("Add", [product, bias], ["logits"], name="node_logits"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "width"])
        for name in ("input_ids", "token_type_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(state["classifier.bias"])])
    ]
    onnx_graph = helper.make_graph(graph.nodes, "cross_encoder", inputs, outputs, graph.initializers)
    model = helper.make_model(onnx_graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    model.producer_name = "rif-plugins"
    helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model)
    return model


def export(torch_model: Any, out: Path, *, temperature: float = 1.0, metadata: Mapping[str, str]) -> Path:
    """Write ``model.onnx`` into the folder ``out``; returns its path."""
    state = {name: value.detach().cpu().float().numpy() for name, value in torch_model.state_dict().items()}
    out.mkdir(parents=True, exist_ok=True)
    path = out / "model.onnx"
    onnx.save(build(state, torch_model.config, temperature=temperature, metadata=metadata), str(path))
    return path


def float_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The weights of an exported model as float32 under their torch names: undoes :func:`export`."""
    stored = {i.name: numpy_helper.to_array(i) for i in onnx.load(str(path)).graph.initializer}
    state = {}
    for name, array in stored.items():
        if name.startswith("constant_") or name.endswith((".scale", ".zero")):
            continue
        scale = stored.get(name.removesuffix("weight") + "scale")
        if array.dtype != np.int8 or scale is None:
            state[name] = array.T if name == "classifier.weight" else array
        elif scale.ndim == 2:  # an embedding table, scales by row
            state[name] = array.astype(_FLOAT) * scale
        else:
            state[name] = (array.astype(_FLOAT) * scale).T
    return {name: np.array(array, dtype=_FLOAT, order="C") for name, array in state.items()}
