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
    """Collects nodes and initializers; every method returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._number = 0

    def constant(self, array: NDArray[Any], hint: str) -> str:
        name = self._name(hint)
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = self._name(op.lower())
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node_{name}", **attributes))
        return name

    def linear(self, x: str, weight: NDArray[Any], bias: NDArray[Any], hint: str) -> str:
        """``x @ weight.T + bias`` with ``weight`` (out, in) stored in int8."""
        quantised, scale = quantise(weight)
        stored = self.constant(quantised.T, f"{hint}_weight")
        scales, zeros = self.constant(scale, f"{hint}_scale"), self.constant(np.zeros(len(scale), np.int8), f"{hint}_zero")
        real = self.add("DequantizeLinear", [stored, scales, zeros], axis=1)
        return self.add("Add", [self.add("MatMul", [x, real]), self.constant(bias.astype(_FLOAT), f"{hint}_bias")])

    def norm(self, x: str, weight: NDArray[Any], bias: NDArray[Any], epsilon: float) -> str:
        parameters = [self.constant(weight.astype(_FLOAT), "gamma"), self.constant(bias.astype(_FLOAT), "beta")]
        return self.add("LayerNormalization", [x, *parameters], axis=-1, epsilon=epsilon)

    def _name(self, hint: str) -> str:
        self._number += 1
        return f"{hint}_{self._number}"


def quantise(weight: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 by row: integers (out, in) and scales (out,)."""
    scale = np.abs(weight).max(axis=1) / 127.0
    scale = np.where(scale == 0.0, 1.0, scale).astype(_FLOAT)
    return np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8), scale


def _embeddings(graph: _Graph, state: Mapping[str, NDArray[Any]], epsilon: float) -> str:
    prefix = "bert.embeddings."
    table, scale = quantise(state[f"{prefix}word_embeddings.weight"])
    rows = graph.add("Gather", [graph.constant(table, "words"), "input_ids"], axis=0)
    scales = graph.add("Gather", [graph.constant(scale[:, None], "word_scales"), "input_ids"], axis=0)
    words = graph.add("Mul", [graph.add("Cast", [rows], to=TensorProto.FLOAT), scales])
    kinds_table = graph.constant(state[f"{prefix}token_type_embeddings.weight"].astype(_FLOAT), "kinds")
    kinds = graph.add("Gather", [kinds_table, "token_type_ids"], axis=0)
    places_table = graph.constant(state[f"{prefix}position_embeddings.weight"].astype(_FLOAT), "places")
    width = graph.add("Gather", [graph.add("Shape", ["input_ids"]), graph.constant(np.array([1], np.int64), "one")], axis=0)
    zero = graph.constant(np.array([0], np.int64), "zero")
    places = graph.add("Slice", [places_table, zero, width, zero])
    total = graph.add("Add", [graph.add("Add", [words, kinds]), places])
    return graph.norm(total, state[f"{prefix}LayerNorm.weight"], state[f"{prefix}LayerNorm.bias"], epsilon)


def _mask(graph: _Graph) -> str:
    """(batch, 1, 1, width): 0 for tokens, a number that vanishes in the softmax for padding."""
    mask = graph.add("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    mask = graph.add("Unsqueeze", [mask, graph.constant(np.array([1, 2], np.int64), "axes")])
    hidden = graph.add("Sub", [graph.constant(np.array(1.0, _FLOAT), "one"), mask])
    return graph.add("Mul", [hidden, graph.constant(np.array(-1e9, _FLOAT), "far")])


def _attention(graph: _Graph, x: str, mask: str, state: Mapping[str, NDArray[Any]], prefix: str, heads: int) -> str:
    names = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
    hidden = state[f"{names[0]}weight"].shape[0]
    split = graph.constant(np.array([0, 0, heads, hidden // heads], np.int64), "split")
    parts = []
    for name, order in zip(names, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True):
        projected = graph.linear(x, state[f"{name}weight"], state[f"{name}bias"], "projection")
        parts.append(graph.add("Transpose", [graph.add("Reshape", [projected, split])], perm=order))
    scores = graph.add("MatMul", parts[:2])
    root = graph.constant(np.array(math.sqrt(hidden / heads), _FLOAT), "root")
    weights = graph.add("Softmax", [graph.add("Add", [graph.add("Div", [scores, root]), mask])], axis=-1)
    context = graph.add("Transpose", [graph.add("MatMul", [weights, parts[2]])], perm=[0, 2, 1, 3])
    return graph.add("Reshape", [context, graph.constant(np.array([0, 0, hidden], np.int64), "join")])


def _gelu(graph: _Graph, x: str) -> str:
    erf = graph.add("Erf", [graph.add("Div", [x, graph.constant(np.array(math.sqrt(2.0), _FLOAT), "root")])])
    plus = graph.add("Add", [erf, graph.constant(np.array(1.0, _FLOAT), "one")])
    return graph.add("Mul", [graph.add("Mul", [x, plus]), graph.constant(np.array(0.5, _FLOAT), "half")])


def _layer(
    graph: _Graph, x: str, mask: str, state: Mapping[str, NDArray[Any]], prefix: str, heads: int, epsilon: float
) -> str:
    def linear(y: str, name: str) -> str:
        return graph.linear(y, state[f"{prefix}{name}.weight"], state[f"{prefix}{name}.bias"], "dense")

    def norm(y: str, name: str) -> str:
        return graph.norm(y, state[f"{prefix}{name}.weight"], state[f"{prefix}{name}.bias"], epsilon)

    attended = linear(_attention(graph, x, mask, state, prefix, heads), "attention.output.dense")
    x = norm(graph.add("Add", [attended, x]), "attention.output.LayerNorm")
    inner = _gelu(graph, linear(x, "intermediate.dense"))
    return norm(graph.add("Add", [linear(inner, "output.dense"), x]), "output.LayerNorm")


def build(
    state: Mapping[str, NDArray[Any]],
    config: Any,
    *,
    temperature: float = 1.0,
    metadata: Mapping[str, str],
) -> Any:
    """The ONNX model of a ``BertForSequenceClassification``; logits are divided by ``temperature``."""
    graph = _Graph()
    x, mask = _embeddings(graph, state, config.layer_norm_eps), _mask(graph)
    for number in range(config.num_hidden_layers):
        prefix = f"bert.encoder.layer.{number}."
        x = _layer(graph, x, mask, state, prefix, config.num_attention_heads, config.layer_norm_eps)
    first = graph.add("Gather", [x, graph.constant(np.array(0, np.int64), "first")], axis=1)
    pooled = graph.add(
        "Tanh", [graph.linear(first, state["bert.pooler.dense.weight"], state["bert.pooler.dense.bias"], "pooler")]
    )
    # The last layer is tiny: it stays float32.
    weight = graph.constant((state["classifier.weight"] / temperature).T.astype(_FLOAT), "classifier_weight")
    bias = graph.constant((state["classifier.bias"] / temperature).astype(_FLOAT), "classifier_bias")
    graph.nodes.append(helper.make_node("MatMul", [pooled, weight], ["product"], name="node_product"))
    graph.nodes.append(helper.make_node("Add", ["product", bias], ["logits"], name="node_logits"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "width"])
        for name in ("input_ids", "token_type_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(state["classifier.bias"])])]
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
