"""Keeps on disk what a model replied and could not be used: raw, with the reason, until the chunk is extracted or gone."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, source_id

_log = logging.getLogger(__name__)
_SHORT = 16


class Quarantine:
    """One folder a source, one JSON file a chunk: uri, position, model, reason, the chunk's text, and every raw reply.

    It holds text of documents, so what is gone from the store has to leave it too: see :meth:`retain`.

    Parameters
    ----------
    folder : made when something is kept
    store, corpus : what the sources belong to; nothing of another store or corpus is looked at
    """

    def __init__(self, folder: Path, *, store: str, corpus: str) -> None:
        self.folder = folder / checksum(store, corpus)
        self._corpus = corpus

    def keep(self, chunk: ChunkInput, *, model: str, reason: str, replies: Sequence[str]) -> Path | None:
        """Keep what was replied for a chunk; None where the disk does not take it, which is logged."""
        folder = self.folder / source_id(self._corpus, chunk.uri)
        path = folder / f"{_text_name(chunk.text)}-{checksum(model, chunk.title, *chunk.headings)[:_SHORT]}.json"
        tree = {
            "uri": chunk.uri,
            "position": chunk.position,
            "model": model,
            "reason": reason,
            "replies": list(replies),
            "text": chunk.text,
        }
        part = path.with_suffix(".part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(tree)))
            part.replace(path)
        except OSError as error:
            _log.warning(
                "quarantine %s cannot be written (%s): a raw reply is lost; make room, or choose another", path, error
            )
            return None
        return path

    def release(self, uris: Collection[str]) -> None:
        """Drop what is kept for these sources: their chunks are extracted anew."""
        self._drop([source_id(self._corpus, uri) for uri in uris])

    def held(self) -> list[str]:
        """Ids of the sources that something is kept for."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.is_dir())

    def retain(self, texts: Mapping[str, Collection[str]]) -> None:
        """Drop what is kept for all chunks but those of these texts, by the id of their source."""
        self._drop([name for name in self.held() if name not in texts])
        for name, known in texts.items():
            names = {_text_name(text) for text in known}
            for path in (self.folder / name).glob("*.json"):
                if path.name.partition("-")[0] not in names:
                    path.unlink(missing_ok=True)

    def _drop(self, source_ids: Collection[str]) -> None:
        for folder in (self.folder / name for name in source_ids):
            if not folder.is_dir():
                continue
            try:
                shutil.rmtree(folder)
            except OSError as error:
                _log.warning("quarantine %s may still hold text that is to go (%s); delete the folder", folder, error)


def _text_name(text: str) -> str:
    return checksum(text)[:_SHORT]
