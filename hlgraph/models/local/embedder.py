"""Embed texts with a BERT-family model on the CPU, with onnxruntime or OpenVINO; needs no torch."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError, ModelError, ModelMissingError, needs_extra
from hlgraph.ids import checksum
from hlgraph.models.local.bert import (
    BertConfig,
    OpenVinoModel,
    available_cores,
    batches,
    build_graph,
    load_runtime,
    load_tokenizer,
    open_session,
    padded,
    read_config,
    read_json,
    read_tensors,
    run_batches,
    sha256,
    valid_utf8,
)

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

Runtime: TypeAlias = Literal["onnxruntime", "openvino", "int8"]

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"

PROMPTS = "config_sentence_transformers.json"

_GRAPH_VERSION = "1"  # increase it with every change to build_graph that changes the vectors
_TEXTS_AT_ONCE = 4096  # limits the memory of the tokenizer
_NEEDED_FOR = "the local embedding model"
_SHORT_HASH = 12
_Compute: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.float32]], NDArray[np.float32]]


class _Prompts(msgspec.Struct):
    prompts: dict[str, str] = {}

    def of(self, *names: str) -> str:
        """The first of these prompts that the model has; empty without one."""
        return next((self.prompts[name] for name in names if name in self.prompts), "")


class LocalEmbedder:
    """An embedder for a sentence-transformers folder (``config.json``, ``model.safetensors``, ``tokenizer.json``).

    A vector is the normalised mean of the token vectors of the last layer (or the first token vector). The prompts ``query`` and
    ``document`` (or ``passage``) of ``config_sentence_transformers.json`` stand before questions and texts. Texts that exceed the
    model's token limit are truncated. Nothing is loaded before the first text is embedded. Safe for threads and forks. Nothing
    leaves this machine: the telemetry of onnxruntime and OpenVINO is off.

    ``onnxruntime`` and ``openvino`` compute the same model and share one fingerprint: the cosine between their vectors is above
    .9999 (measured over 3,600 texts: minimum .99992, mean .999985). OpenVINO in bfloat16 takes about a third of the time. A
    process forked after OpenVINO was loaded continues with onnxruntime.

    ``int8`` is onnxruntime with linear layers of 8-bit integers: about half the time on processors with such instructions, and a
    fingerprint of its own, since the cosine to the exact vectors is .993 in the mean. It computes one text at a time, so a vector
    does not depend on the other texts.

    Parameters
    ----------
    folder : folder of the model
    name : name of the model in the fingerprint; default: the name of the folder
    weights_sha256 : SHA-256 of the weights file, if known; default: computed when needed
    threads : processor cores to use; default: all that this process may use
    runtime : inference runtime; ``onnxruntime`` (default) gives the same vectors on every machine; ``openvino`` is faster on
        processors with bfloat16, and needs a model that ``hlgraph models install`` installed; ``int8`` needs one that
        ``hlgraph models install --int8`` installed

    Raises
    ------
    ModelMissingError
        There is no model in the folder.
    ModelError
        The kind of model is not supported.
    InputError
        There is no such runtime.

    References
    ----------
    Reimers and Gurevych, Sentence-BERT, EMNLP 2019; Wang et al., MiniLM, NeurIPS 2020.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "",
        weights_sha256: str | None = None,
        threads: int | None = None,
        runtime: Runtime = "onnxruntime",
    ) -> None:
        if runtime not in get_args(Runtime):
            raise InputError(
                f"{runtime!r} is not a runtime of local models; choose one of {', '.join(get_args(Runtime))}"
            )
        self.folder = folder
        self._config = read_config(folder)
        for file in (WEIGHTS, TOKENIZER):
            if not (folder / file).is_file():
                raise ModelMissingError(f"{folder}: {file} is missing; run: hlgraph models install")
        prompts = read_json(folder / PROMPTS, _Prompts) or _Prompts()
        self._question_prompt, self._text_prompt = prompts.of("query"), prompts.of("document", "passage")
        self._name = name or folder.resolve().name
        self._known_sha256 = weights_sha256
        self.threads = threads or available_cores()
        self._chosen_runtime = runtime
        self._lock = threading.Lock()
        self._engine: _Engine | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Name, short SHA-256 of the weights, the token limit, a checksum of prompts, and ``+int8`` for 8-bit integers."""
        weights = self._known_sha256 or sha256(self.folder / WEIGHTS)
        parts = [f"{self._name}@{weights[:_SHORT_HASH]}/{self.max_tokens}"]
        if self._question_prompt or self._text_prompt:
            parts.append(checksum(self._question_prompt, self._text_prompt)[:_SHORT_HASH])
        return "+".join([*parts, "int8"] if self._chosen_runtime == "int8" else parts)

    @property
    def cache_name(self) -> str:
        """Key of the model in a vector cache. Vectors from OpenVINO have a key of their own."""
        return f"{self.fingerprint}+openvino" if self._chosen_runtime == "openvino" else self.fingerprint

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._config.hidden

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens per text, including the two special tokens at its ends."""
        return self._config.max_tokens

    @property
    def runtime(self) -> Runtime:
        """The runtime in use in this process; loads the model. Raises as :meth:`embed` does."""
        return self._loaded().runtime

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text, in order.

        Texts of similar length share a batch, which keeps padding low. The other texts in a batch change a vector by rounding
        only (about 1e-7, with bfloat16 1e-3; cosine above .9999), with ``int8`` not at all.

        Raises
        ------
        MissingExtraError
            onnxruntime, tokenizers or onnx is not installed, or openvino if it is the chosen runtime.
        ModelError
            The weights or the tokenizer cannot be used.
        """
        return self._vectors([f"{self._text_prompt}{text}" for text in texts] if self._text_prompt else texts)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """The vector of one question, shape ``(dimensions,)``. Raises as :meth:`embed` does."""
        vector: NDArray[np.float32] = self._vectors([f"{self._question_prompt}{question}"])[0]
        return vector

    def forget(self, texts: Sequence[str]) -> None:
        """Do nothing, since this embedder stores no texts and no vectors."""

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            self._fill(vectors[start : start + _TEXTS_AT_ONCE], texts[start : start + _TEXTS_AT_ONCE])
        return vectors

    def _fill(self, vectors: NDArray[np.float32], texts: Sequence[str]) -> None:
        engine = self._loaded()
        encodings = engine.tokenizer.encode_batch_fast([self._prepared(text) for text in texts])
        tokens = [encoding.ids for encoding in encodings]

        def compute(batch: NDArray[np.intp]) -> None:
            ids, is_token = padded([tokens[index] for index in batch], self._config.pad_id)
            vectors[batch] = engine.compute(ids, is_token.astype(np.float32))

        # The scale of 8-bit activations is that of the whole batch, so a text of int8 has a batch of its own.
        is_alone = engine.runtime == "int8"
        index_batches = (
            [*np.arange(len(tokens))[:, np.newaxis]] if is_alone else [*batches([len(ids) for ids in tokens])]
        )
        # One batch of OpenVINO already uses all threads.
        run_batches(compute, index_batches, threads=1 if engine.runtime == "openvino" else self.threads)

    def _prepared(self, text: str) -> str:
        valid = valid_utf8(text)
        return valid.lower() if self._config.is_lowercased else valid

    def _loaded(self) -> _Engine:
        with self._lock:
            if self._engine is None:
                self._engine = _load(self.folder, self._config, threads=self.threads, runtime=self._chosen_runtime)
            elif not self._engine.is_usable:  # after a fork, OpenVINO could wait for threads that are gone
                self._engine = _Engine("onnxruntime", _onnxruntime(self.folder, self._config), self._engine.tokenizer)
            return self._engine


@dataclass(frozen=True, slots=True)
class _Engine:
    """A loaded model. Thread-safe."""

    runtime: Runtime
    compute: _Compute
    tokenizer: tokenizers.Tokenizer

    @property
    def is_usable(self) -> bool:
        return not isinstance(self.compute, OpenVinoModel) or self.compute.is_usable


def graph_name(config: BertConfig, folder: Path) -> str:
    """File name of a model's saved graph; it changes with everything that the graph depends on.

    Parameters
    ----------
    config : configuration of the model
    folder : folder of the model, for the header of its weights file

    Returns
    -------
    str
        The file name.
    """
    header = repr(sorted(read_tensors(folder / WEIGHTS).items()))
    return f"graph-{checksum(_GRAPH_VERSION, repr(config), header)[:_SHORT_HASH]}.onnx"


def save_graph(folder: Path) -> Path:
    """Build the graph and save it beside the weights, so that loading the model does not need onnx; returns its path.

    Raises MissingExtraError or ModelError as ``build_graph`` does.
    """
    config = read_config(folder)
    path = folder / graph_name(config, folder)
    path.write_bytes(build_graph(config, read_tensors(folder / WEIGHTS), location=WEIGHTS))
    return path


def save_int8(folder: Path) -> Path:
    """Save the graph with 8-bit weights beside the exact one of an installed model; returns its path.

    Weights are scaled by output channel to 7 bits, so that sums cannot overflow on processors without VNNI and every machine
    computes the same. Activations are scaled at each run. Raises MissingExtraError if onnx or onnxruntime is not installed.
    """
    with needs_extra("local", "an embedding model of 8-bit integers"):
        load_runtime()
        import onnx
        from onnxruntime.quantization import quantize_dynamic
    exact = folder / graph_name(read_config(folder), folder)
    path = _int8(exact)
    model = onnx.load(exact if exact.is_file() else save_graph(folder))
    # Says that the graph is preprocessed, which would change nothing here; without it onnxruntime logs a warning.
    model.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        staged = Path(scratch) / path.name
        quantize_dynamic(
            model,
            staged,
            op_types_to_quantize=["MatMul", "Gemm"],
            per_channel=True,
            reduce_range=True,
            extra_options={"MatMulConstBOnly": True},
        )
        staged.replace(path)
    return path


def _int8(exact: Path) -> Path:
    """The file of the 8-bit graph beside an exact one."""
    return exact.with_suffix(".int8.onnx")


def _load(folder: Path, config: BertConfig, *, threads: int, runtime: Runtime) -> _Engine:
    saved = folder / graph_name(config, folder)
    # OpenVINO reads graphs with external weights from files only, and does not follow symbolic links.
    is_readable = saved.is_file() and not (folder / WEIGHTS).is_symlink()
    if runtime == "openvino" and not is_readable:
        raise ModelError(
            f"{folder}: openvino needs an installed model; run: hlgraph models install --from {folder},"
            " or choose the runtime onnxruntime"
        )
    tokenizer = load_tokenizer(folder / TOKENIZER, config.max_tokens, needed_for=_NEEDED_FOR)
    if runtime == "openvino":
        return _Engine("openvino", OpenVinoModel(saved, threads=threads), tokenizer)
    if runtime == "int8":
        quantized = _int8(saved)
        if not quantized.is_file():
            raise ModelError(f"{folder}: the model has no 8-bit graph; run: hlgraph models install --int8")
        return _Engine(
            "int8", _computing(open_session(quantized, weights=quantized, needed_for=_NEEDED_FOR)), tokenizer
        )
    return _Engine("onnxruntime", _onnxruntime(folder, config), tokenizer)


def _onnxruntime(folder: Path, config: BertConfig) -> _Compute:
    weights = (folder / WEIGHTS).resolve()  # model caches use symbolic links, which the runtime does not follow
    saved = folder / graph_name(config, folder)
    if weights.name == WEIGHTS and saved.is_file():
        graph = saved.read_bytes()
    else:
        graph = build_graph(config, read_tensors(weights), location=weights.name)
    return _computing(open_session(graph, weights=weights, needed_for=_NEEDED_FOR))


def _computing(session: onnxruntime.InferenceSession) -> _Compute:
    def compute(ids: NDArray[np.int64], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = session.run(None, {"ids": ids, "mask": mask})[0]
        return vectors

    return compute
