"""Splits the sources of an ingest into parts: paths are discovered in this process, and each part is read by a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hlgraph.errors import ReadError
from hlgraph.ingest import pipeline
from hlgraph.ingest.pipeline import Failure, Report
from hlgraph.ingest.run import Job
from hlgraph.integrations.ray.parcels import Part
from hlgraph.read import ReadFailure
from hlgraph.read.discover import Found, discover

_MOST_PARTS = 2_000
_PARTS_EACH = 4  # per worker, so that none waits long for the last part of another
_LEAST = 10_000
_UNKNOWN_SIZE = 50_000  # assumed for S3 objects, bytes


def parts(job: Job, report: Report, *, workers: int, most: int) -> list[Part]:
    """The sources of a job in order, split into parts.

    Parameters
    ----------
    job : the ingest; the URIs of its documents are added to ``job.seen``
    report : receives the failures
    workers : number of extracting processes
    most : maximum number of characters of documents in one parcel
    """
    given = {document.uri for document in job.documents}
    job.seen.update(given)
    # Documents of the caller may have the URIs of files, or of rows of files.
    taken = frozenset(uri for uri in given if uri.startswith(("file:", "s3:")))
    items = discover(job.paths, job.options.format, follow_links=job.options.follow_links, files=job.files)
    found = list(_found(items, report, taken=taken))
    total = sum(len(document.text) for document in job.documents) + sum(length for _, length in found)
    size = min(most, max(_LEAST, total // (_PARTS_EACH * workers)))
    steps = replace(job.steps, batch_characters=size)
    batches = pipeline.batches(job.documents, report, seen=set(), steps=steps)
    return [
        *(Part(size, documents=tuple(batch)) for batch in batches),
        *(Part(size, paths=names, taken=taken) for names in _joined(found, max(size, total // _MOST_PARTS))),
    ]


def _found(items: Iterable[Found | ReadFailure], report: Report, *, taken: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Paths with their sizes."""
    for item in items:
        if isinstance(item, ReadFailure):
            report.failed.append(Failure(item.uri, str(item.error), item.error.extra))
        elif item.origin.uri in taken:
            error = ReadError(item.origin.uri, "it was read before in this run", "give each source one uri")
            report.failed.append(Failure(item.origin.uri, str(error)))
        elif item.path is not None:
            yield str(item.path), _size(item)
        elif item.item is not None:
            place = item.item.place
            yield f"s3://{place.bucket}/{place.key}", _UNKNOWN_SIZE


def _size(item: Found) -> int:
    try:
        return item.path.stat().st_size if item.path is not None else 0
    except OSError:  # it was removed meanwhile; the task that reads it reports that
        return 0


def _joined(found: Iterable[tuple[str, int]], size: int) -> Iterator[tuple[str, ...]]:
    """Paths in groups of at least ``size`` bytes each but the last, in order."""
    names: list[str] = []
    total = 0
    for name, length in found:
        names.append(name)
        total += length
        if total >= size:
            yield tuple(names)
            names, total = [], 0
    if names:
        yield tuple(names)
