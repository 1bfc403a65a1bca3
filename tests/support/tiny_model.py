"""Sentence encoders with tiny random weights, in the layout of sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
TERMS = ("the", "a", "river", "bridge", "keeper", "built", "old", "lamp", "storm", "ferry", "stone", "tower", "##s")
WORDS = [*MARKS, *TERMS, ".", ",", "?"]
TEXTS = ["the keeper built a bridge.", "", "storms", "the old ferry, the old lamp, the stone tower", "zzz 🌧️ 東京?"]
Weights = dict[str, NDArray[np.float32]]


def random_weights(config: dict[str, Any], rng: np.random.Generator) -> Weights:
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    is_mpnet = config["model_type"] == "mpnet"
    shapes = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], hidden),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
    }
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}."
        sizes = {f"attention.self.{name}": (hidden, hidden) for name in ("query", "key", "value")}
        sizes |= {"attention.output.dense": (hidden, hidden), "intermediate.dense": (inner, hidden)}
        sizes |= {"output.dense": (hidden, inner)}
        sizes |= dict.fromkeys(("attention.output.LayerNorm", "output.LayerNorm"), (hidden,))
        for name, shape in sizes.items():
            shapes |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
    if is_mpnet:
        del shapes["embeddings.token_type_embeddings.weight"]
        shapes["encoder.relative_attention_bias.weight"] = (32, config["num_attention_heads"])
    return {name: rng.normal(size=shape).astype(np.float32) * 0.3 for name, shape in shapes.items()}


MPNET_NAMES = {
    ".attention.self.query.": ".attention.attn.q.",
    ".attention.self.key.": ".attention.attn.k.",
    ".attention.self.value.": ".attention.attn.v.",
    ".attention.output.dense.": ".attention.attn.o.",
    ".attention.output.LayerNorm.": ".attention.LayerNorm.",
}
OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}


def make_model(
    folder: Path,
    *,
    dtype: str = "float32",
    prefix: str = "",
    names: Mapping[str, str] = MappingProxyType({}),
    **changes: Any,
) -> Path:
    """A folder in the layout of sentence-transformers; ``changes`` go into config.json, ``names`` renames tensors."""
    from safetensors.numpy import save_file

    config = {
        "model_type": "bert",
        "vocab_size": len(WORDS),
        "type_vocab_size": 2,
        "max_position_embeddings": 20,
        "pad_token_id": 0,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 48,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        **changes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    weights = random_weights(config, np.random.default_rng(7))
    arrays = {f"{prefix}{_renamed(name, names)}": array.astype(dtype) for name, array in weights.items()}
    save_file({**arrays, f"{prefix}pooler.dense.bias": np.zeros(24, np.float32)}, folder / "model.safetensors")
    save_tokenizer(folder, lowercase=False)
    return folder


def _renamed(name: str, names: Mapping[str, str]) -> str:
    for usual, other in names.items():
        name = name.replace(usual, other)
    return name


def save_tokenizer(folder: Path, *, lowercase: bool, pair: str | None = None) -> None:
    """Write tokenizer.json; ``pair`` is the template of two texts."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=16)  # as in files that come from training
    tokenizer.save(str(folder / "tokenizer.json"))
