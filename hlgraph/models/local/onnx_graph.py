"""Builds the ONNX graph of a BERT-family sentence encoder. The graph refers to the weights file instead of copying it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hlgraph.errors import MissingExtraError, ModelError
from hlgraph.models.local.config import BertConfig
from hlgraph.models.local.weights import Tensor

if TYPE_CHECKING:
    import onnx

OPSET = 20  # the first with Gelu; LayerNormalization is older
IR_VERSION = 9
_ONNX_TYPES = {"F32": 1, "F16": 10, "BF16": 16}  # onnx.TensorProto.FLOAT, FLOAT16, BFLOAT16
_FLOAT = 1
_MASKED = np.float32(-1e9)  # softmax of this is exactly 0


def build_graph(config: BertConfig, tensors: Mapping[str, Tensor], *, location: str) -> bytes:
    """The serialised graph ``(ids, mask) -> vectors``: transformer, pooling and L2 norm in one.

    ``ids`` is int64 (batch, length), ``mask`` float32 of that shape (1 for a token, 0 for padding), ``vectors`` float32
    (batch, hidden). Post-norm layers with scaled dot-product attention: ``softmax(QK'/sqrt(d) + mask) V``. Tokens are
    rows of one matrix outside of the attention, so that every linear layer is a single Gemm with its bias.

    Parameters
    ----------
    config : sizes, activation and pooling
    tensors : position of each tensor in the weights file, by name
    location : name of the weights file, relative to the folder that the runtime is given

    Returns
    -------
    bytes
        The ONNX model, serialised.

    Raises
    ------
    MissingExtraError
        onnx is not installed.
    ModelError
        A tensor is missing, or its shape or type differs from the configuration.

    References
    ----------
    Devlin et al., BERT, NAACL 2019; Vaswani et al., Attention is all you need, 2017.
    """
    builder = _Builder(tensors, location)
    vectors = _normalised(builder, _pooled(builder, config, _encoded(builder, config)))
    return builder.serialised(vectors, config.hidden)


def _encoded(builder: _Builder, config: BertConfig) -> str:
    """The token vectors of the last layer, (batch * length, hidden)."""
    hidden, add = config.hidden, builder.add
    words = add("Gather", builder.weight("embeddings.word_embeddings.weight", (None, hidden)), "ids")
    batch_shape = add("Shape", "ids")
    length = add("Slice", batch_shape, builder.integers(1), builder.integers(2))
    last = add("Add", length, builder.integers(config.first_position))
    table = builder.weight("embeddings.position_embeddings.weight", (None, hidden))
    places = add("Slice", table, builder.integers(config.first_position), last, builder.integers(0))
    kinds = builder.weight("embeddings.token_type_embeddings.weight", (None, hidden))
    kind = add("Slice", kinds, builder.integers(0), builder.integers(1), builder.integers(0))
    rows = builder.integers(-1, hidden)
    state = add("Reshape", add("Add", words, add("Add", places, kind)), rows)
    state = builder.normalise(state, "embeddings.LayerNorm", config=config)
    split = add("Concat", batch_shape, builder.integers(config.heads, hidden // config.heads), axis=0)
    masked = add("Mul", add("Sub", builder.constant(np.float32(1)), "mask"), builder.constant(_MASKED))
    bias = add("Unsqueeze", masked, builder.integers(1, 2))
    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        heads = _attention(builder, config, state=state, layer=layer, split=split, bias=bias)
        attended = builder.linear(
            add("Reshape", heads, rows), f"{layer}.attention.output.dense", shape=(hidden, hidden)
        )
        state = builder.normalise(add("Add", state, attended), f"{layer}.attention.output.LayerNorm", config=config)
        inner = builder.activate(builder.linear(state, f"{layer}.intermediate.dense", shape=(None, hidden)), config)
        outer = builder.linear(inner, f"{layer}.output.dense", shape=(hidden, None))
        state = builder.normalise(add("Add", state, outer), f"{layer}.output.LayerNorm", config=config)
    return state


def _attention(builder: _Builder, config: BertConfig, *, state: str, layer: str, split: str, bias: str) -> str:
    """Values weighted by attention, (batch, length, heads, width)."""
    add, square = builder.add, (config.hidden, config.hidden)

    def by_head(name: str, order: tuple[int, ...]) -> str:
        projected = builder.linear(state, f"{layer}.attention.self.{name}", shape=square)
        return add("Transpose", add("Reshape", projected, split), perm=order)

    scale = builder.constant(np.float32(1 / math.sqrt(config.hidden // config.heads)))
    query, key, value = by_head("query", (0, 2, 1, 3)), by_head("key", (0, 2, 3, 1)), by_head("value", (0, 2, 1, 3))
    scores = add("MatMul", add("Mul", query, scale), key)
    weights = add("Softmax", add("Add", scores, bias), axis=-1)
    return add("Transpose", add("MatMul", weights, value), perm=(0, 2, 1, 3))


def _pooled(builder: _Builder, config: BertConfig, state: str) -> str:
    """One vector per text, not normalised."""
    add = builder.add
    shape = add("Concat", add("Shape", "ids"), builder.integers(config.hidden), axis=0)
    tokens = add("Reshape", state, shape)
    if config.pooling == "cls":
        return add("Gather", tokens, builder.constant(np.int64(0)), axis=1)
    # The sum replaces the mean, since the vectors are normalised afterwards.
    weighted = add("Mul", tokens, add("Unsqueeze", "mask", builder.integers(2)))
    return add("ReduceSum", weighted, builder.integers(1), keepdims=0)


def _normalised(builder: _Builder, vectors: str) -> str:
    return builder.add("LpNormalization", vectors, axis=-1, p=2)


class _Builder:
    """Collects nodes and weights; ``add`` returns the name of the node's output."""

    def __init__(self, tensors: Mapping[str, Tensor], location: str) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError("local", "the local embedding model") from error
        self._onnx = onnx
        self._tensors = tensors
        self._location = location
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: np.generic | np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
        array = np.asarray(value)
        name = f"{array.dtype}_{array.tolist()}"
        self._initializers.setdefault(name, self._onnx.numpy_helper.from_array(array, name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def weight(self, name: str, shape: tuple[int | None, ...]) -> str:
        """A tensor of the weights file; None in ``shape`` allows any size. Half precision is cast to single."""
        tensor = self._tensors.get(name)
        if tensor is None:
            raise ModelError(f"{self._location}: the tensor {name} is missing; choose a BERT-family sentence encoder")
        fits = len(tensor.shape) == len(shape) and all(
            want in (None, got) for want, got in zip(shape, tensor.shape, strict=True)
        )
        if not fits or tensor.dtype not in _ONNX_TYPES:
            raise ModelError(
                f"{self._location}: the tensor {name} is {tensor.dtype} {tensor.shape}, but config.json says"
                f" {shape} (None: any) of {', '.join(_ONNX_TYPES)}; download the model again"
            )
        if name not in self._initializers:
            proto = self._onnx.TensorProto(name=name, data_type=_ONNX_TYPES[tensor.dtype], dims=tensor.shape)
            proto.data_location = self._onnx.TensorProto.EXTERNAL
            for key, value in (("location", self._location), ("offset", tensor.start), ("length", tensor.length)):
                proto.external_data.add(key=key, value=str(value))
            self._initializers[name] = proto
        return name if tensor.dtype == "F32" else self.add("Cast", name, to=_FLOAT)

    def linear(self, rows: str, name: str, *, shape: tuple[int | None, int | None]) -> str:
        """``rows W' + b``; the weights have the shape (outputs, inputs)."""
        weight = self.weight(f"{name}.weight", shape)
        return self.add("Gemm", rows, weight, self.weight(f"{name}.bias", shape[:1]), transB=1)

    def normalise(self, rows: str, name: str, *, config: BertConfig) -> str:
        scale = self.weight(f"{name}.weight", (config.hidden,))
        shift = self.weight(f"{name}.bias", (config.hidden,))
        return self.add("LayerNormalization", rows, scale, shift, axis=-1, epsilon=config.epsilon)

    def activate(self, rows: str, config: BertConfig) -> str:
        if config.activation == "relu":
            return self.add("Relu", rows)
        return self.add("Gelu", rows, approximate="tanh" if config.activation == "tanh" else "none")

    def serialised(self, output: str, width: int) -> bytes:
        helper = self._onnx.helper
        batch = ["batch", "length"]
        inputs = [helper.make_tensor_value_info("ids", self._onnx.TensorProto.INT64, batch)]
        inputs.append(helper.make_tensor_value_info("mask", _FLOAT, batch))
        self._nodes.append(helper.make_node("Identity", [output], ["vectors"]))
        outputs = [helper.make_tensor_value_info("vectors", _FLOAT, ["batch", width])]
        graph = helper.make_graph(self._nodes, "encoder", inputs, outputs, list(self._initializers.values()))
        model = helper.make_model(
            graph, producer_name="hlgraph", opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        return bytes(model.SerializeToString())
