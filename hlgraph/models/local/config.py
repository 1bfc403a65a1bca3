"""Reads the configuration of a model from a sentence-transformers folder: sizes, token limit, pooling."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

from hlgraph.errors import ModelError, ModelMissingError

Pooling: TypeAlias = Literal["mean", "cls"]
Activation: TypeAlias = Literal["erf", "tanh", "relu"]

_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "erf",
    "gelu_new": "tanh",
    "gelu_pytorch_tanh": "tanh",
    "relu": "relu",
}
_PADDED_POSITIONS = ("roberta", "xlm-roberta", "camembert")  # their positions start after the padding id
_KINDS = ("bert", *_PADDED_POSITIONS)


class BertConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything but the weights that determines an embedding.

    Attributes
    ----------
    hidden : length of a token vector
    layers, heads : number of layers, and of attention heads per layer
    epsilon : added to the variance by layer normalisation
    activation : form of the feed-forward activation: exact GELU, tanh approximation, or ReLU
    first_position : index of the first position embedding
    pad_id : token id of padding
    max_tokens : maximum number of tokens per text
    pooling : how token vectors become one
    is_lowercased : texts are lowercased first
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
    model_max_length: float | None = None  # some say 1e30


_Parsed = TypeVar("_Parsed", bound=msgspec.Struct)


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
    config = _read(folder / "config.json", _Config)
    if config is None:
        raise ModelMissingError(
            f"{folder}: this folder holds no embedding model (config.json is missing); run: hlgraph models install"
        )
    if config.model_type not in _KINDS or config.position_embedding_type not in (None, "absolute"):
        positions = config.position_embedding_type or "absolute"
        raise _unusable(folder, f"its kind is {config.model_type!r} with {positions} positions", " or ".join(_KINDS))
    if config.hidden_act not in _ACTIVATIONS:
        raise _unusable(folder, f"its activation is {config.hidden_act!r}", ", ".join(_ACTIVATIONS))
    if min(config.num_attention_heads, config.num_hidden_layers) < 1 or config.hidden_size % config.num_attention_heads:
        raise ModelError(
            f"{folder / 'config.json'}: hidden_size is not a multiple of num_attention_heads; download the model again"
        )
    pad_id = config.pad_token_id or 0
    first_position = pad_id + 1 if config.model_type in _PADDED_POSITIONS else 0
    sentence = _read(folder / "sentence_bert_config.json", _SentenceConfig) or _SentenceConfig()
    return BertConfig(
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        epsilon=config.layer_norm_eps,
        activation=_ACTIVATIONS[config.hidden_act],
        first_position=first_position,
        pad_id=pad_id,
        max_tokens=_max_tokens(folder, sentence, config.max_position_embeddings - first_position),
        pooling=_pooling(folder),
        is_lowercased=sentence.do_lower_case,
    )


def _max_tokens(folder: Path, sentence: _SentenceConfig, positions: int) -> int:
    """The token limit in the settings, and at most the number of positions."""
    if sentence.max_seq_length:
        return min(sentence.max_seq_length, positions)
    tokenizer = _read(folder / "tokenizer_config.json", _TokenizerConfig) or _TokenizerConfig()
    return int(min(tokenizer.model_max_length or positions, positions))


def _pooling(folder: Path) -> Pooling:
    """How token vectors become one; the mean by default, as in sentence-transformers."""
    try:
        modules = msgspec.json.decode((folder / "modules.json").read_bytes(), type=list[_Module])
    except FileNotFoundError:
        return "mean"
    except (OSError, msgspec.MsgspecError) as error:
        raise _unreadable(folder / "modules.json", error) from error
    path = ""
    for module in modules:
        kind = module.type.rpartition(".")[2]
        if kind not in ("Transformer", "Pooling", "Normalize") or (kind == "Transformer" and module.path):
            raise _unusable(
                folder, f"modules.json names {module.type!r} in {module.path!r}", "Transformer, Pooling, Normalize"
            )
        path = module.path if kind == "Pooling" else path
    pooling = _read(folder / path / "config.json", _PoolingConfig) if path else None
    if pooling is None:
        return "mean"
    modes = {pooling.pooling_mode} if isinstance(pooling.pooling_mode, str) else set(pooling.pooling_mode)
    flags = {name for name in _PoolingConfig.__struct_fields__[1:] if getattr(pooling, name)}
    match sorted(modes | {name.removeprefix("pooling_mode_").split("_")[0] for name in flags}):
        case ["mean"] if "pooling_mode_mean_sqrt_len_tokens" not in flags:
            return "mean"
        case ["cls"]:
            return "cls"
        case found:
            raise _unusable(
                folder, f"it pools by {' and '.join(found) or 'nothing'} ({path}/config.json)", "mean or cls"
            )


def _read(path: Path, kind: type[_Parsed]) -> _Parsed | None:
    """The file parsed as ``kind``; None if there is no such file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ModelError:
    return ModelError(f"{path}: not a valid model configuration ({error}); download the model again")


def _unusable(folder: Path, reason: str, known: str) -> ModelError:
    return ModelError(
        f"{folder}: {reason}, which the local embedder does not support (it supports {known}); choose another model"
    )
