"""A BERT-family encoder: its configuration, weights and ONNX graph from a sentence-transformers folder, and how it is run."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import math
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import ModelError, ModelMissingError, needs_extra
from hlgraph.ids import checksum

if TYPE_CHECKING:
    import onnx
    import onnxruntime
    import tokenizers

Pooling: TypeAlias = Literal["mean", "cls"]
Activation: TypeAlias = Literal["erf", "tanh", "relu"]

_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "erf",
    "gelu_new": "tanh",
    "gelu_pytorch_tanh": "tanh",
    "relu": "relu",
}
_PADDED_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their positions start after the padding id
_KINDS = ("bert", *_PADDED_POSITIONS)


class BertConfig(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The settings that determine an embedding, together with the weights.

    Attributes
    ----------
    hidden : length of a token vector
    layers, heads : number of layers, and of attention heads per layer
    epsilon : added to the variance by layer normalisation
    activation : form of the feed-forward activation: exact GELU, tanh approximation, or ReLU
    first_position : index of the first position embedding
    pad_id : token id of padding
    max_tokens : maximum number of tokens per text
    pooling : how token vectors are combined into one
    is_lowercased : whether texts are lowercased first
    distances : number of classes of the relative positions of two tokens, each with a bias per head (MPNet); 0: none
    """

    hidden: int
    layers: int
    heads: int
    epsilon: float
    activation: Activation
    first_position: int
    pad_id: int
    max_tokens: int
    pooling: Pooling
    is_lowercased: bool
    distances: int = 0


class _Config(msgspec.Struct):
    model_type: str
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    position_embedding_type: str | None = "absolute"
    relative_attention_num_buckets: int = 32


class _Module(msgspec.Struct):
    path: str
    type: str


class _PoolingConfig(msgspec.Struct):
    pooling_mode: str | list[str] = []  # newer layout; the flags below are the older one
    pooling_mode_mean_tokens: bool = False
    pooling_mode_cls_token: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False


class _SentenceConfig(msgspec.Struct):
    max_seq_length: int | None = None
    do_lower_case: bool = False


class _TokenizerConfig(msgspec.Struct):
    model_max_length: float | None = None  # some files say 1e30


_Parsed = TypeVar("_Parsed")


def read_config(folder: Path) -> BertConfig:
    """The configuration of a model, from ``config.json`` and, if present, ``modules.json``, pooling and tokenizer settings.

    Raises
    ------
    ModelMissingError
        There is no model in the folder.
    ModelError
        A file cannot be read, or the local embedder does not support this kind of model.

    References
    ----------
    Reimers and Gurevych, Sentence-BERT, EMNLP 2019.
    """
    config = read_json(folder / "config.json", _Config)
    if config is None:
        raise ModelMissingError(
            f"{folder}: this folder holds no embedding model (config.json is missing); run: hlgraph models install"
        )
    if config.model_type not in _KINDS or config.position_embedding_type not in (None, "absolute"):
        position_type = config.position_embedding_type or "absolute"
        raise _unusable(
            folder, f"its kind is {config.model_type!r} with {position_type} positions", " or ".join(_KINDS)
        )
    if config.hidden_act not in _ACTIVATIONS:
        raise _unusable(folder, f"its activation is {config.hidden_act!r}", ", ".join(_ACTIVATIONS))
    if min(config.num_attention_heads, config.num_hidden_layers) < 1 or config.hidden_size % config.num_attention_heads:
        raise ModelError(
            f"{folder / 'config.json'}: hidden_size is not a multiple of num_attention_heads; download the model again"
        )
    pad_id = config.pad_token_id or 0
    first = first_position(config.model_type, pad_id)
    positions = config.max_position_embeddings - first
    sentence = read_json(folder / "sentence_bert_config.json", _SentenceConfig) or _SentenceConfig()
    return BertConfig(
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        epsilon=config.layer_norm_eps,
        activation=_ACTIVATIONS[config.hidden_act],
        first_position=first,
        pad_id=pad_id,
        max_tokens=min(sentence.max_seq_length or token_limit(folder, positions), positions),
        pooling=_pooling(folder),
        is_lowercased=sentence.do_lower_case,
        distances=config.relative_attention_num_buckets if config.model_type == "mpnet" else 0,
    )


def first_position(model_type: str, pad_id: int) -> int:
    """Index of the first position embedding.

    Parameters
    ----------
    model_type : kind of the model, from ``config.json``
    pad_id : token id of padding
    """
    return pad_id + 1 if model_type in _PADDED_POSITIONS else 0


def token_limit(folder: Path, positions: int) -> int:
    """The token limit in the settings of the tokenizer, but at most the number of positions.

    Parameters
    ----------
    folder : folder of the model
    positions : number of positions of the model
    """
    tokenizer = read_json(folder / "tokenizer_config.json", _TokenizerConfig) or _TokenizerConfig()
    return int(min(tokenizer.model_max_length or positions, positions))


def _pooling(folder: Path) -> Pooling:
    """The pooling mode; the mean by default, as in sentence-transformers."""
    path = ""
    for module in read_json(folder / "modules.json", list[_Module]) or ():
        kind = module.type.rpartition(".")[2]
        if kind not in ("Transformer", "Pooling", "Normalize") or (kind == "Transformer" and module.path):
            raise _unusable(
                folder, f"modules.json names {module.type!r} in {module.path!r}", "Transformer, Pooling, Normalize"
            )
        path = module.path if kind == "Pooling" else path
    pooling = read_json(folder / path / "config.json", _PoolingConfig) if path else None
    if pooling is None:
        return "mean"
    modes = {pooling.pooling_mode} if isinstance(pooling.pooling_mode, str) else set(pooling.pooling_mode)
    flags = {name for name in _PoolingConfig.__struct_fields__[1:] if getattr(pooling, name)}
    match sorted(modes | {name.removeprefix("pooling_mode_").split("_")[0] for name in flags}):
        case ["mean"] if "pooling_mode_mean_sqrt_len_tokens" not in flags:
            return "mean"
        case ["cls"]:
            return "cls"
        case unsupported:
            raise _unusable(
                folder, f"it pools by {' and '.join(unsupported) or 'nothing'} ({path}/config.json)", "mean or cls"
            )


def read_json(path: Path, kind: type[_Parsed]) -> _Parsed | None:
    """The file parsed as ``kind``; None if there is no such file. Raises ModelError if it cannot be read.

    Parameters
    ----------
    path : the file
    kind : type of the result
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ModelError(f"{path}: not a valid model configuration ({error}); download the model again") from error


def _unusable(folder: Path, reason: str, known: str) -> ModelError:
    return ModelError(
        f"{folder}: {reason}, which the local embedder does not support (it supports {known}); choose another model"
    )


# The places of tensors in a weights file, and its checksum.

_MAX_HEADER = 100_000_000  # bytes; limit of the format
_PREFIXES = ("bert.", "roberta.", "mpnet.")  # in files that were saved with a task head
_OTHER_NAMES = {  # of older files, and of MPNet
    ".LayerNorm.gamma": ".LayerNorm.weight",
    ".LayerNorm.beta": ".LayerNorm.bias",
    ".attention.attn.q.": ".attention.self.query.",
    ".attention.attn.k.": ".attention.self.key.",
    ".attention.attn.v.": ".attention.self.value.",
    ".attention.attn.o.": ".attention.output.dense.",
    ".attention.LayerNorm.": ".attention.output.LayerNorm.",
}


class Tensor(msgspec.Struct, frozen=True):
    """One tensor of a safetensors file; ``start`` and ``length`` are in bytes."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    length: int


class _Entry(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, by name.

    The file consists of 8 bytes with the length of a JSON header, the header, and the values.

    Raises
    ------
    ModelMissingError
        There is no such file.
    ModelError
        The file is not a safetensors file, or is truncated.

    References
    ----------
    https://github.com/huggingface/safetensors#format
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= _MAX_HEADER:
                raise _broken(path, "it has no valid header length")
            header = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
        size = path.stat().st_size
        header.pop("__metadata__", None)
        entries = {name: msgspec.json.decode(entry, type=_Entry) for name, entry in header.items()}
    except FileNotFoundError as error:
        raise ModelMissingError(f"{path} is missing; run: hlgraph models install") from error
    except OSError as error:
        raise ModelError(f"{path}: the weights cannot be read ({error}); check its permissions") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _broken(path, f"its header cannot be read: {error}") from error
    data_start = 8 + length
    tensors = {}
    for name, entry in entries.items():
        start, end = entry.data_offsets
        if not 0 <= start <= end <= size - data_start:
            raise _broken(path, f"the tensor {name} lies beyond its end")
        tensors[_usual_name(name, entries)] = Tensor(entry.dtype, entry.shape, data_start + start, end - start)
    return tensors


def weights_of_export(graph: Path) -> bytes:
    """The weights of an ONNX export of a BERT-family encoder as a safetensors file, the same bytes each time.

    The exporters of transformers and optimum keep the names of most tensors, but transpose and rename the matrices of linear
    layers. The bias that is added to such a product names its matrix.

    Parameters
    ----------
    graph : the ONNX file, with its weights in it or beside it

    Returns
    -------
    bytes
        The content of the safetensors file.

    Raises
    ------
    MissingExtraError
        onnx is not installed.
    ModelError
        The file cannot be read.
    """
    with needs_extra("local", "reading an embedding model in ONNX"):
        import onnx
        from google.protobuf.message import DecodeError
    try:
        model = onnx.load(graph).graph
    except (OSError, DecodeError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{graph}: not an ONNX file with its weights ({error}); export the model again") from error
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in model.initializer}
    sums = {name: node for node in model.node if node.op_type == "Add" for name in node.input}
    for node in model.node:
        if node.op_type == "MatMul" and node.input[1] in arrays and node.output[0] in sums:
            bias = next((name for name in sums[node.output[0]].input if name.endswith(".bias")), "")
            if bias:
                arrays[f"{bias.removesuffix('bias')}weight"] = arrays[node.input[1]].T
    entries: dict[str, object] = {}
    parts: list[bytes] = []
    size = 0
    for name, array in sorted(arrays.items()):
        if array.dtype == np.float32 and name.endswith((".weight", ".bias")):
            parts.append(array.astype("<f4").tobytes())  # in C order
            entries[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": (size, size + len(parts[-1]))}
            size += len(parts[-1])
    header = msgspec.json.encode(entries)
    header += b" " * (-len(header) % 8)
    return b"".join((len(header).to_bytes(8, "little"), header, *parts))


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal. Raises ModelError if it cannot be read, ModelMissingError if it is missing."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise ModelMissingError(f"{path} is missing; run: hlgraph models install") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error}); check its permissions") from error


def _usual_name(name: str, entries: Mapping[str, _Entry]) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix) and f"{prefix}embeddings.word_embeddings.weight" in entries:
            name = name.removeprefix(prefix)
    for other, usual in _OTHER_NAMES.items():
        name = name.replace(other, usual)
    return name


def _broken(path: Path, reason: str) -> ModelError:
    return ModelError(f"{path}: not an intact safetensors file ({reason}); download the model again")


# The ONNX graph. It refers to the weights file instead of copying it.

OPSET = 20  # the first with Gelu; LayerNormalization is older
IR_VERSION = 9
_ONNX_TYPES = {"F32": 1, "F16": 10, "BF16": 16}  # onnx.TensorProto.FLOAT, FLOAT16, BFLOAT16
_FLOAT = 1
_FARTHEST = 128  # from this distance on, all relative positions have one class
_MASKED = np.float32(-1e9)  # softmax of this is exactly 0


def build_graph(config: BertConfig, tensors: Mapping[str, Tensor], *, location: str) -> bytes:
    """The serialised graph ``(ids, mask) -> vectors``: transformer, pooling and L2 norm in one.

    ``ids`` is int64 (batch, length), ``mask`` float32 of that shape (1 for a token, 0 for padding), ``vectors`` float32
    (batch, hidden). Post-norm layers with scaled dot-product attention: ``softmax(QK'/sqrt(d) + mask) V``. Outside
    attention, tokens are the rows of one matrix, so that every linear layer is a single Gemm with its bias.

    Parameters
    ----------
    config : sizes, activation and pooling
    tensors : position of each tensor in the weights file, by name
    location : path of the weights file, relative to the folder given to the runtime

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
    pooled = _pooled(builder, config, _encoded(builder, config))
    return builder.serialised(builder.add("LpNormalization", pooled, axis=-1, p=2), config.hidden)


def _encoded(builder: _Builder, config: BertConfig) -> str:
    """The token vectors of the last layer, (batch * length, hidden)."""
    hidden, add = config.hidden, builder.add
    words = add("Gather", builder.weight("embeddings.word_embeddings.weight", (None, hidden)), "ids")
    batch_shape = add("Shape", "ids")
    length = add("Slice", batch_shape, builder.integers(1), builder.integers(2))
    end = add("Add", length, builder.integers(config.first_position))
    position_table = builder.weight("embeddings.position_embeddings.weight", (None, hidden))
    positions = add("Slice", position_table, builder.integers(config.first_position), end, builder.integers(0))
    if not config.distances:  # a model with relative positions has no token types
        type_table = builder.weight("embeddings.token_type_embeddings.weight", (None, hidden))
        token_type = add("Slice", type_table, builder.integers(0), builder.integers(1), builder.integers(0))
        positions = add("Add", positions, token_type)
    row_shape = builder.integers(-1, hidden)
    state = add("Reshape", add("Add", words, positions), row_shape)
    state = builder.normalise(state, "embeddings.LayerNorm", config=config)
    head_shape = add("Concat", batch_shape, builder.integers(config.heads, hidden // config.heads), axis=0)
    penalty = add("Mul", add("Sub", builder.constant(np.float32(1)), "mask"), builder.constant(_MASKED))
    bias = add("Unsqueeze", penalty, builder.integers(1, 2))
    if config.distances:
        bias = add("Add", bias, _relative_bias(builder, config, length))
    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        heads = _attention(builder, config, state=state, layer=layer, head_shape=head_shape, bias=bias)
        attended = builder.linear(
            add("Reshape", heads, row_shape), f"{layer}.attention.output.dense", shape=(hidden, hidden)
        )
        state = builder.normalise(add("Add", state, attended), f"{layer}.attention.output.LayerNorm", config=config)
        inner = builder.activate(builder.linear(state, f"{layer}.intermediate.dense", shape=(None, hidden)), config)
        outer = builder.linear(inner, f"{layer}.output.dense", shape=(hidden, None))
        state = builder.normalise(add("Add", state, outer), f"{layer}.output.LayerNorm", config=config)
    return state


def _relative_bias(builder: _Builder, config: BertConfig, length: str) -> str:
    """The bias of each pair of tokens by the class of their distance, (1, heads, length, length); Song et al., MPNet, 2020."""
    add = builder.add
    bias = builder.weight("encoder.relative_attention_bias.weight", (config.distances, config.heads))
    limit = config.max_tokens
    table = builder.constant(distance_classes(np.arange(1 - limit, limit), config.distances))
    places = add("Range", builder.constant(np.int64(0)), add("Squeeze", length), builder.constant(np.int64(1)))
    apart = add("Sub", add("Unsqueeze", places, builder.integers(0)), add("Unsqueeze", places, builder.integers(1)))
    classes = add("Gather", table, add("Add", apart, builder.integers(limit - 1)))
    return add("Unsqueeze", add("Transpose", add("Gather", bias, classes), perm=(2, 0, 1)), builder.integers(0))


def distance_classes(distances: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The class of each distance from a token to another, of T5 and MPNet.

    Half of the classes are for tokens that follow. Of each half, the first half is exact and the rest grows with the logarithm up
    to a distance of 128.

    Parameters
    ----------
    distances : place of the other token minus that of the token
    count : number of classes, a multiple of 4

    Returns
    -------
    NDArray
        From 0 to ``count - 1``, of the same shape.

    References
    ----------
    Raffel et al., Exploring the limits of transfer learning, 2020, section 2.1.

    Examples
    --------
    >>> distance_classes(np.array([-300, -9, -1, 0, 1, 9, 300]), 32).tolist()
    [15, 8, 1, 0, 17, 24, 31]
    """
    half, exact = count // 2, count // 4
    size = np.abs(distances)
    steps = np.log(np.maximum(size, 1) / exact) / np.log(_FARTHEST / exact) * (half - exact)
    far = exact + np.floor(steps.round(6))  # rounded: a distance on a border is of the higher class
    near = np.where(size < exact, size, np.minimum(far.astype(np.int64), half - 1))
    classes: NDArray[np.int64] = near + half * (distances > 0)
    return classes


def _attention(builder: _Builder, config: BertConfig, *, state: str, layer: str, head_shape: str, bias: str) -> str:
    """The values weighted by attention, (batch, length, heads, width)."""
    add, square = builder.add, (config.hidden, config.hidden)

    def by_head(name: str, order: tuple[int, ...]) -> str:
        projected = builder.linear(state, f"{layer}.attention.self.{name}", shape=square)
        return add("Transpose", add("Reshape", projected, head_shape), perm=order)

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


class _Builder:
    """Collects nodes and weights; ``add`` returns the name of the node's output."""

    def __init__(self, tensors: Mapping[str, Tensor], location: str) -> None:
        with needs_extra("local", "the local embedding model"):
            import onnx
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
        name = (
            f"{array.dtype}_{array.tolist()}" if array.size < 9 else f"{array.dtype}_{checksum(array.tobytes().hex())}"
        )
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
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise ModelError(
                f"{self._location}: the tensor {name} is {tensor.dtype} {tensor.shape}, but config.json says ({wanted}) of "
                f"{', '.join(_ONNX_TYPES)}; download the model again"
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


# Running a model: the session of the runtime, the tokenizer, and batches of texts.

_NO_MEMORY = re.compile(r"bad_alloc|out of memory|(?:cannot|failed to|unable to) (?:allocate|map)", re.IGNORECASE)


def load_runtime() -> None:
    """Import onnxruntime with its telemetry off; nothing else imports it first. Raises ImportError if it is not installed."""
    # From 1.29 on, onnxruntime sends usage reports unless this is set before its import; the reporting thread also keeps
    # a forked process from ending. The variable is only set here, never read.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: F401


def open_session(model: bytes | Path, *, weights: Path, needed_for: str) -> onnxruntime.InferenceSession:
    """A single-threaded session on the CPU. It survives a fork and can compute several batches at once.

    Parameters
    ----------
    model : the ONNX graph, or its file
    weights : model file named in errors; weights outside the graph are read from its folder
    needed_for : what needs it, for the error

    Returns
    -------
    onnxruntime.InferenceSession
        The session.

    Raises
    ------
    MissingExtraError
        onnxruntime is not installed.
    ModelError
        onnxruntime cannot load the model; retryable if there was not enough memory.
    """
    with needs_extra("local", needed_for):
        load_runtime()
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as errors
    onnxruntime.disable_telemetry_events()  # Windows needs this call too
    options = onnxruntime.SessionOptions()
    # One thread per batch and several batches in parallel: threads do not wait for each other after every layer, and a
    # session without threads of its own survives a fork.
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # errors only, which are raised as well
    if isinstance(model, bytes):
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
    refusals = (errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.InvalidProtobuf, errors.NoSuchFile)
    try:
        return onnxruntime.InferenceSession(
            model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
        )
    except (*refusals, errors.NotImplemented, errors.RuntimeException, MemoryError, OSError) as error:
        raise not_loaded(weights, error) from error


def not_loaded(weights: Path, error: Exception) -> ModelError:
    """The error for a model that cannot be loaded, because there is not enough memory or its file is damaged.

    Parameters
    ----------
    weights : file of the model
    error : the exception of the runtime

    Examples
    --------
    >>> print(not_loaded(Path("model.onnx"), MemoryError("std::bad_alloc")))
    model.onnx: not enough memory to load the model (std::bad_alloc); free some, or raise the limit of this process
    """
    is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if is_memory or _NO_MEMORY.search(str(error)):
        remedy = "free some, or raise the limit of this process"
        return ModelError(f"{weights}: not enough memory to load the model ({error}); {remedy}", retryable=True)
    return ModelError(f"{weights}: onnxruntime cannot load the model ({error}); download the model again")


# OpenVINO, in bfloat16 on processors that have instructions for it.

_REPORTS = "openvino_telemetry"


class OpenVinoModel:
    """Maps ``(ids, mask)``, both of shape ``(batch, length)``, to vectors of shape ``(batch, hidden)``. Thread-safe.

    Products use weights and activations rounded to bfloat16 (8 bits of precision), and are summed in float32. On
    processors without bfloat16, everything is float32. Nothing leaves this machine: OpenVINO's telemetry package is not
    loaded, unless the application imported openvino earlier.

    One batch is computed at a time, on all threads: OpenVINO compiles for each new shape, and concurrent compilations
    on few cores are reported to deadlock.

    Parameters
    ----------
    graph : ONNX file that refers to the weights file beside it
    threads : processor cores to use for a batch

    Raises
    ------
    MissingExtraError
        openvino is not installed.
    ModelError
        openvino cannot load the graph.

    References
    ----------
    Kalamkar et al., A study of BFLOAT16 for deep learning training, 2019.
    """

    def __init__(self, graph: Path, *, threads: int) -> None:
        runtime = _imported()
        core = runtime.Core()
        # OpenVINO computes bfloat16 on any processor on request, but a hundred times slower without the instructions.
        has_bfloat16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        options = {
            "INFERENCE_PRECISION_HINT": "bf16" if has_bfloat16 else "f32",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": False,  # the system decides on which cores the caller's threads run
        }
        try:
            model = core.compile_model(core.read_model(graph), "CPU", options)
        except RuntimeError as error:
            raise ModelError(f"{graph}: openvino cannot load the model ({error}); download the model again") from error
        self._process = os.getpid()
        self._request = model.create_infer_request()
        self._lock = threading.Lock()
        self._parts = [core, model, self._request]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_abandon, weakref.ref(self)))

    @property
    def is_usable(self) -> bool:
        """Whether this process loaded the model; False after a fork, which OpenVINO's threads do not survive."""
        return self._process == os.getpid()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors of one batch, in a new array."""
        with self._lock:
            # Copied, since the next call overwrites the buffers of the request.
            vectors: NDArray[np.float32] = self._request.infer([ids, mask])[0].copy()
        return vectors


def _abandon(reference: weakref.ref[OpenVinoModel]) -> None:
    """Keep the model from being freed in a forked process, where freeing would wait for threads that do not exist."""
    model = reference()
    for part in model._parts if model else ():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(part))


def _imported() -> ModuleType:
    """The package openvino, imported without the package through which it would send a report."""
    is_blocked = _REPORTS not in sys.modules
    if is_blocked:
        sys.modules[_REPORTS] = None  # type: ignore[assignment]  # documented: makes its import fail
    try:
        with needs_extra("openvino", "computing the local embedding model with OpenVINO"):
            import openvino
    finally:
        if is_blocked:
            del sys.modules[_REPORTS]
    module: ModuleType = openvino
    return module


# Tokens of texts, in batches of similar length.

_TOKENS_AT_ONCE = 512  # the activations of such a batch fit the cache of one core


def load_tokenizer(path: Path, max_tokens: int, *, needed_for: str) -> tokenizers.Tokenizer:
    """The tokenizer in a ``tokenizer.json``, without padding; truncates to ``max_tokens``.

    Parameters
    ----------
    path : path of ``tokenizer.json``
    max_tokens : maximum number of tokens of a text, or of a pair of texts, with the special tokens
    needed_for : what needs it, for the error

    Returns
    -------
    tokenizers.Tokenizer
        The tokenizer.

    Raises
    ------
    MissingExtraError
        tokenizers is not installed.
    ModelError
        The file cannot be read.
    """
    with needs_extra("local", needed_for):
        import tokenizers
    try:
        data = path.read_bytes()
        msgspec.json.decode(data)
        tokenizer = tokenizers.Tokenizer.from_buffer(data)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise ModelError(f"{path}: the tokenizer cannot be read ({error}); download the model again") from error
    # The file may still hold padding and truncation settings from training.
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def valid_utf8(text: str) -> str:
    """The text as valid UTF-8, which tokenizers need; a damaged source may contain a lone surrogate."""
    return text.encode("utf-8", "replace").decode("utf-8")


def batches(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """Indices sorted by length, in batches of at most 512 tokens including padding, or of one text.

    Parameters
    ----------
    lengths : number of tokens of each text, at least one text

    Returns
    -------
    Iterator
        Indices of the texts of each batch.

    Examples
    --------
    >>> [batch.tolist() for batch in batches([300, 2, 250, 3])]
    [[1, 3], [2], [0]]
    """
    order = np.argsort(np.array(lengths), kind="stable")
    start = 0
    for end, index in enumerate(order):
        if end > start and lengths[index] * (end + 1 - start) > _TOKENS_AT_ONCE:
            yield order[start:end]
            start = end
    yield order[start:]


def padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of different lengths, padded to one array, and a mask of the positions that hold a token.

    Parameters
    ----------
    rows : ids of tokens, at least one row
    pad_id : fills the shorter rows

    Returns
    -------
    tuple
        Ids and mask, both of shape (number of rows, length of the longest).

    Examples
    --------
    >>> ids, is_token = padded([[5, 6], [7]], 0)
    >>> ids.tolist(), is_token.tolist()
    ([[5, 6], [7, 0]], [[True, True], [True, False]])
    """
    lengths = np.array([len(row) for row in rows])
    is_token = np.arange(lengths.max()) < lengths[:, np.newaxis]
    ids = np.full(is_token.shape, pad_id, dtype=np.int64)
    ids[is_token] = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    return ids, is_token


def run_batches(
    compute: Callable[[NDArray[np.intp]], None], index_batches: Sequence[NDArray[np.intp]], *, threads: int
) -> None:
    """Run all batches, up to ``threads`` at once. Raises the error of a batch that fails; reports the progress of ``embed``.

    Parameters
    ----------
    compute : computes one batch
    index_batches : indices of the texts of each batch
    threads : maximum number of batches at once
    """
    if len(index_batches) == 1 or threads == 1:
        for batch in index_batches:
            compute(batch)
            progress.advance("embed", len(batch))
        return
    pool = ThreadPoolExecutor(min(threads, len(index_batches)))
    try:
        results = pool.map(compute, index_batches)  # re-raises errors of the threads
        for batch, _ in zip(index_batches, results, strict=True):
            progress.advance("embed", len(batch))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # after an error or Ctrl-C no other batch starts


def available_cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
