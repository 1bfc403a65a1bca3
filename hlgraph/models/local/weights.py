"""Locates the tensors in a weights file and computes its checksum; never parses the numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hlgraph.errors import ModelError, ModelMissingError

_MAX_HEADER = 100_000_000  # bytes; limit of the format
_PREFIXES = ("bert.", "roberta.")  # in files that were saved with a task head


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

    The file holds 8 bytes with the length of a JSON header, the header, and the numbers.

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
    first = 8 + length
    tensors = {}
    for name, entry in entries.items():
        start, end = entry.data_offsets
        if not 0 <= start <= end <= size - first:
            raise _broken(path, f"the tensor {name} lies beyond its end")
        tensors[_plain(name, entries)] = Tensor(entry.dtype, entry.shape, first + start, end - start)
    return tensors


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal. Raises ModelError if it cannot be read, ModelMissingError if it is missing."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise ModelMissingError(f"{path} is missing; run: hlgraph models install") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error}); check its permissions") from error


def _plain(name: str, entries: Mapping[str, _Entry]) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix) and f"{prefix}embeddings.word_embeddings.weight" in entries:
            return name.removeprefix(prefix)
    return name


def _broken(path: Path, reason: str) -> ModelError:
    return ModelError(f"{path}: not an intact safetensors file ({reason}); download the model again")
