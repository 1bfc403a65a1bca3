"""Cross-encoders small enough to be made on the spot: a question and a text score by the weights of the tokens of the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tiny_model import WORDS

WEIGHTS = {word: 0.25 * at - 1.5 for at, word in enumerate(WORDS)}
"""What each token of the text adds to the logit."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def make_cross_encoder(
    folder: Path,
    *,
    inputs: Sequence[str] = INPUTS,
    labels: int = 1,
    rank: int = 2,
    place: str = "model.onnx",
    scale: float = 1.0,
    max_positions: int = 24,
) -> Path:
    """A folder with an ONNX graph, a tokenizer for pairs and their configuration.

    ``logit = scale * sum of the weights of the tokens whose type is 1 and whose mask is 1``; without types, of all tokens.

    Parameters
    ----------
    folder : is made
    inputs : of the graph; a name beyond ``INPUTS`` makes a graph that no cross-encoder has
    labels : number of scores of a pair
    rank : 3 gives one vector a token, as an embedding model does
    place : of the graph in the folder
    scale : of the logit
    max_positions : token limit

    Returns
    -------
    Path
        The folder.
    """
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    table = np.tile(np.array([[WEIGHTS[word] * scale] for word in WORDS], np.float32), (1, labels))
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([1], np.int64), "tokens"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
    ]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["of_token"])]
    found = "of_token"
    for name in (name for name in inputs if name != "input_ids"):
        nodes.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Unsqueeze", [f"{name}_f", "last"], [f"{name}_c"]))
        nodes.append(helper.make_node("Mul", [found, f"{name}_c"], [f"by_{name}"]))
        found = f"by_{name}"
    if rank == 2:
        nodes.append(helper.make_node("ReduceSum", [found, "tokens"], ["logits"], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", [found], ["logits"]))
    shape = ["batch", "length"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape[: rank - 1], labels])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_bytes(model.SerializeToString())
    config = {"model_type": "bert", "max_position_embeddings": max_positions, "pad_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_padding(length=16)  # as in files that come from training
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
