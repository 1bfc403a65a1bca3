"""The extractor for files of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hlgraph.extract.precomputed._files import read_files
from hlgraph.extract.precomputed._merge import merge
from hlgraph.extract.precomputed._records import Record
from hlgraph.extract.seam import ChunkInput, Extractor
from hlgraph.ids import checksum
from hlgraph.records import Extraction

_VERSION = "precomputed/1"


class PrecomputedExtractor:
    """An extractor that looks up each chunk in files of records; the package's docstring describes their format.

    A record is found by the document's key, else by its uri, else by the part of the uri after ``#``. Files are read once,
    into memory. The text of a statement is used as it is, with white space folded. Names in lower case get the
    capitalisation that they have in the chunk. A statement without a topic gets the deepest heading, else the title.

    Parameters
    ----------
    paths : one or several files of JSON lines, plain or gzip
    missing : extracts the chunks that have no record; None: they get a problem and no propositions

    Raises
    ------
    ExtractionError
        A file cannot be read or holds no record. A single invalid line does not raise: see :attr:`problems`.
    """

    def __init__(self, paths: Path | str | Sequence[Path | str], *, missing: Extractor | None = None) -> None:
        given = [paths] if isinstance(paths, (Path, str)) else list(paths)
        self._paths = [Path(path) for path in given]
        self._missing = missing
        self._index = read_files(self._paths)

    @property
    def fingerprint(self) -> str:
        """Name, version and a hash of the content of the files, and the extractor of chunks without a record."""
        beside = f"+{self._missing.fingerprint}" if self._missing else ""
        return f"{_VERSION}/{self._index.digest[:32]}{beside}"

    @property
    def problems(self) -> tuple[str, ...]:
        """The unusable lines, in the order of the files: file, line, reason and remedy."""
        return tuple(self._index.problems)

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order; a chunk without a record gets a problem, unless another extractor takes it."""
        extractions = [self._extract(chunk) for chunk in chunks]
        if self._missing is not None:
            without = [i for i, chunk in enumerate(chunks) if self._is_missing(chunk)]
            made = self._missing.extract([chunks[i] for i in without])
            for i, extraction in zip(without, made, strict=True):
                extractions[i] = extraction
        for first, lost in self._lost(chunks, extractions):
            problem = (
                f"{len(lost)} statements of {chunks[first].key or chunks[first].uri!r} match none of its chunks,"
                f" the first is {lost[0][:80]!r}; name their chunk with `chunk`"
            )
            extractions[first] = replace(extractions[first], problem=extractions[first].problem or problem)
        return extractions

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of the records of this chunk, its text and its context; records of other chunks do not affect it."""
        if self._missing is not None and self._is_missing(chunk):
            return self._missing.input_fingerprint(chunk)
        records = self._records(chunk)
        position = str(chunk.position) if any(record.chunk is not None for record in self._of_document(chunk)) else ""
        shape = "one" if chunk.chunk_count == 1 else "many"
        digests = [record.digest for record in records]
        return checksum(_VERSION, chunk.text, chunk.title, shape, position, *chunk.headings, "", *digests)

    def _is_missing(self, chunk: ChunkInput) -> bool:
        """Whether the files say nothing about the chunk; a broken line about it is not nothing."""
        return not self._records(chunk) and self._index.broken.keys().isdisjoint(self._keys(chunk))

    def _keys(self, chunk: ChunkInput) -> list[str]:
        return [name for name in (chunk.key, chunk.uri, chunk.uri.partition("#")[2]) if name]

    def _of_document(self, chunk: ChunkInput) -> list[Record]:
        for name in self._keys(chunk):
            if name in self._index.records:
                return self._index.records[name]
        return []

    def _records(self, chunk: ChunkInput) -> list[Record]:
        return [record for record in self._of_document(chunk) if record.chunk in (None, chunk.position)]

    def _lost(self, chunks: Sequence[ChunkInput], extractions: Sequence[Extraction]) -> Iterator[tuple[int, list[str]]]:
        """For each document with all of its chunks given: its first chunk, and the statements that no chunk took."""
        documents: dict[tuple[str | None, str], list[int]] = {}
        for i, chunk in enumerate(chunks):
            if chunk.chunk_count > 1:
                documents.setdefault((chunk.key, chunk.uri), []).append(i)
        for indices in documents.values():
            if len({chunks[i].position for i in indices}) == chunks[indices[0]].chunk_count:
                taken = {proposition.text for i in indices for proposition in extractions[i].propositions}
                records = (record for record in self._of_document(chunks[indices[0]]) if record.chunk is None)
                given = (" ".join(item.text.split()) for record in records for item in record.statements)
                lost = [text for text in given if text not in taken]
                if lost:
                    yield indices[0], lost

    def _extract(self, chunk: ChunkInput) -> Extraction:
        records = self._records(chunk)
        if not records:
            return Extraction(problem=self._why_none(chunk))
        if not any(record.statements or record.triples for record in records):
            return Extraction(problem=f"the record of {chunk.key or chunk.uri!r} has neither statements nor triples")
        return merge(records, chunk)

    def _why_none(self, chunk: ChunkInput) -> str:
        name = chunk.key or chunk.uri
        files = ", ".join(str(path) for path in self._paths)
        if self._of_document(chunk):
            return f"no record for chunk {chunk.position} of {name!r} in {files}; add one, or records without `chunk`"
        for key in self._keys(chunk):
            if key in self._index.broken:
                return f"no record for {name!r}: {self._index.broken[key]}"
        return f"no record for {name!r} in {files}; its id must be the document's key or uri"
