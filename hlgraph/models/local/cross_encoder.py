"""Score texts against a question with a cross-encoder on the CPU: an ONNX model reads both together; needs no torch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import ModelError, ModelMissingError
from hlgraph.ids import checksum
from hlgraph.models.local.bert import (
    available_cores,
    batches,
    first_position,
    load_tokenizer,
    open_session,
    padded,
    read_json,
    run_batches,
    sha256,
    token_limit,
    valid_utf8,
)

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

GRAPH = "model.onnx"
GRAPH_DATA = ("model.onnx_data", "model.onnx.data")
"""Names under which exports keep the weights of a large model, beside the graph."""
TOKENIZER = "tokenizer.json"

_NEEDED_FOR = "the local reranker"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_PAIRS_AT_ONCE = 4096  # limits the memory of the tokenizer
_SHORT_HASH = 12
_DECIMALS = 4  # of a logit; later decimals depend on the other pairs in the batch


class _Config(msgspec.Struct):
    model_type: str = ""
    max_position_embeddings: int = 512
    pad_token_id: int | None = 0


class LocalCrossEncoder:
    """A reranker for a folder with ``config.json``, ``tokenizer.json`` and ``model.onnx`` (or ``onnx/model.onnx``).

    ``score = 1 / (1 + exp(-logit))`` of the pair (question, text). The logit is rounded to 4 decimals first, so that the
    order of equal scores does not depend on how texts are batched. If a pair exceeds the model's token limit, its longer part is
    truncated. Texts of similar length share a batch. Nothing is loaded before the first text is scored. Safe for threads and
    forks. Nothing leaves this machine.

    Parameters
    ----------
    folder : folder of the model
    name : name of the model in the fingerprint; default: the name of the folder
    threads : processor cores to use; default: all that this process may use

    Raises
    ------
    ModelMissingError
        There is no model in the folder.
    ModelError
        The configuration cannot be read.

    References
    ----------
    HLG, Eq. 9, whose reranker (bge-reranker-v2-minicpm-layerwise) is a larger model of this kind; Nogueira and Cho, Passage
    re-ranking with BERT, 2019.
    """

    def __init__(self, folder: Path, *, name: str = "", threads: int | None = None) -> None:
        self.folder = folder
        self.graph = graph_of(folder)
        if not (folder / TOKENIZER).is_file():
            raise ModelMissingError(
                f"{folder}: {TOKENIZER} is missing; add the {TOKENIZER} of the model, or run: hlgraph models install --reranker"
            )
        config = read_json(folder / "config.json", _Config) or _Config()
        self._pad_id = config.pad_token_id or 0
        positions = config.max_position_embeddings - first_position(config.model_type, self._pad_id)
        self.max_tokens = token_limit(folder, positions)
        self._name = name or folder.resolve().name
        self.threads = threads or available_cores()
        self._lock = threading.Lock()
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Name, short SHA-256 of the model, and the token limit."""
        data = [sha256(file) for file in data_of(self.graph)]
        model = sha256(self.graph)
        return f"{self._name}@{(checksum(model, *data) if data else model)[:_SHORT_HASH]}/{self.max_tokens}"

    def rerank(
        self,
        question: str,
        texts: Sequence[str],
        *,
        similarities: NDArray[np.float32] | None = None,  # noqa: ARG002 - part of the protocol
    ) -> NDArray[np.float32]:
        """One score from 0 to 1 per text; higher is better.

        Parameters
        ----------
        question : the question, plain text
        texts : the texts to score
        similarities : not used

        Returns
        -------
        NDArray
            Scores of shape ``(len(texts),)``, float32.

        Raises
        ------
        MissingExtraError
            onnxruntime or tokenizers is not installed.
        ModelError
            The model or the tokenizer cannot be used, or the model is no cross-encoder.
        """
        from scipy.special import expit

        logits = np.empty(len(texts))
        for start in range(0, len(texts), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            self._fill(logits[part], question, texts[part])
        scores: NDArray[np.float32] = expit(np.round(logits, _DECIMALS)).astype(np.float32)
        return scores

    def _fill(self, logits: NDArray[np.float64], question: str, texts: Sequence[str]) -> None:
        session, tokenizer = self._load()
        pairs = tokenizer.encode_batch([(valid_utf8(question), valid_utf8(text)) for text in texts])

        def compute(batch: NDArray[np.intp]) -> None:
            ids, is_token = padded([pairs[index].ids for index in batch], self._pad_id)
            token_types, _ = padded([pairs[index].type_ids for index in batch], 0)
            inputs = dict(zip(_INPUTS, (ids, is_token, token_types), strict=True))
            logits[batch] = self._run(session, inputs)

        run_batches(compute, list(batches([len(pair.ids) for pair in pairs])), threads=self.threads)

    def _run(
        self, session: onnxruntime.InferenceSession, inputs: dict[str, NDArray[np.generic]]
    ) -> NDArray[np.floating]:
        """One logit per pair of a batch."""
        types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
        feed = {each.name: inputs[each.name].astype(types[each.type]) for each in session.get_inputs()}
        name = session.get_outputs()[0].name
        from onnxruntime.capi import onnxruntime_pybind11_state as errors

        try:
            (output,) = session.run([name], feed)
        except (errors.Fail, errors.InvalidArgument, errors.RuntimeException) as error:
            raise ModelError(f"{self.graph}: the model cannot score a pair ({error}); export it again") from error
        count = len(inputs[_INPUTS[0]])
        if output.shape not in ((count,), (count, 1)):
            raise _not_one_score(self.graph, f"its output {name} has the shape {output.shape} for {count} pairs")
        if not np.isfinite(output).all():
            raise ModelError(f"{self.graph}: a score is not a finite number; export the model again, in 32-bit floats")
        logits: NDArray[np.floating] = output.reshape(count)
        return logits

    def _load(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        with self._lock:
            if self._loaded is None:
                # Model caches use symbolic links, which the runtime does not follow.
                session = open_session(self.graph.resolve(), weights=self.graph, needed_for=_NEEDED_FOR)
                _check_signature(session, self.graph)
                self._loaded = (
                    session,
                    load_tokenizer(self.folder / TOKENIZER, self.max_tokens, needed_for=_NEEDED_FOR),
                )
            return self._loaded


def graph_of(folder: Path) -> Path:
    """The ONNX file of a model's folder. Raises ModelMissingError if it has none."""
    for path in (folder / GRAPH, folder / "onnx" / GRAPH):
        if path.is_file():
            return path
    raise ModelMissingError(
        f"{folder}: this folder holds no cross-encoder ({GRAPH} is missing, and so is onnx/{GRAPH}); export the model to ONNX,"
        " or run: hlgraph models install --reranker ms-marco-MiniLM-L6-v2"
    )


def data_of(graph: Path) -> list[Path]:
    """The files beside an ONNX file that hold its weights; none if the weights are in the file itself."""
    return [graph.with_name(name) for name in GRAPH_DATA if graph.with_name(name).is_file()]


def _check_signature(session: onnxruntime.InferenceSession, graph: Path) -> None:
    inputs = {each.name: each.type for each in session.get_inputs()}
    is_known = set(inputs) <= set(_INPUTS) and all(
        kind in ("tensor(int64)", "tensor(int32)") for kind in inputs.values()
    )
    if "input_ids" not in inputs or not is_known:
        listing = ", ".join(f"{name} {kind}" for name, kind in inputs.items()) or "none"
        raise ModelError(
            f"{graph}: its inputs are {listing}, but a cross-encoder reads whole numbers in input_ids, and may read attention_mask"
            " and token_type_ids; choose a cross-encoder exported for text classification"
        )
    outputs = session.get_outputs()
    shape = outputs[0].shape
    if len(outputs) != 1 or len(shape) > 2 or (len(shape) == 2 and isinstance(shape[1], int) and shape[1] != 1):
        listing = ", ".join(f"{each.name} {each.shape}" for each in outputs)
        raise _not_one_score(graph, f"its outputs are {listing}")


def _not_one_score(graph: Path, reason: str) -> ModelError:
    return ModelError(
        f"{graph}: {reason}, but a cross-encoder gives one score for each pair, in one output; choose a reranker with one label"
        " (an embedding model or a classifier cannot rerank)"
    )
