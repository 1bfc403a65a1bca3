"""From paths to files: folders, globs and standard input, in one fixed order, each file once."""

from __future__ import annotations

import glob
import logging
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from hlgraph.errors import InputError, MissingExtraError, ReadError
from hlgraph.read.content import Origin
from hlgraph.read.failure import ReadFailure, failure
from hlgraph.read.formats import format_of
from hlgraph.read.s3 import S3Object, is_s3, objects, place_of

STDIN = "-"
STDIN_URI = "stdin:"
_HIDDEN = (".", "~$")  # "~$" begins the lock files of Office

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """One thing to read: a file, an object of S3, or standard input when both are None.

    ``format`` is None for an unknown suffix.
    """

    path: Path | None
    origin: Origin
    format: str | None
    item: S3Object | None = None


def discover(paths: Sequence[str], format_name: str | None = None) -> Iterator[Found | ReadFailure]:
    """The files that these paths stand for: in the order of the paths, and sorted by name within a folder or glob.

    A folder is walked with all folders in it, also through links to folders outside it. Left out are hidden files and
    folders and, unless ``format_name`` says how to read everything, files whose suffix has no reader: those are counted
    in a warning of the log. A glob stands for files only. ``s3://bucket/key`` is one object, ``s3://bucket/folder/`` a
    folder. What two paths both reach comes once.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _expand(path, format_name):
            uri = found.uri if isinstance(found, ReadFailure) else found.origin.uri
            if uri not in seen:
                seen.add(uri)
                yield found


def covered(paths: Sequence[str]) -> tuple[str, ...]:
    """The names under which all that these paths stand for is stored, for finding what is missing; see ``is_covered``.

    A folder gives its uri with ``/`` at the end, a file its uri and that with ``#`` (its rows); the same in S3, where the path
    says which it is. Standard input, globs
    and what does not exist give nothing: they do not say what they no longer hold. A stored source that is covered, was
    not read again and is protected by no failure is gone from them (so is a file that its folder leaves out by now).
    """
    names: dict[str, None] = {}
    for path in paths:
        if path in ("", STDIN) or not _is_nameable(path):
            continue
        if is_s3(path):
            place = place_of(path)
            names |= dict.fromkeys((place.uri,) if place.is_folder else (place.uri, f"{place.uri}#"))
            continue
        absolute = _absolute(path)
        try:
            mode = absolute.stat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            names[_folder_uri(absolute)] = None
        else:
            names |= dict.fromkeys((absolute.as_uri(), f"{absolute.as_uri()}#"))
    return tuple(names)


def source_uri(path: str) -> str:
    """The uri under which the file at a path is stored; what is such a uri already comes back as it is.

    Raises
    ------
    InputError
        No file can have this path.

    Examples
    --------
    >>> source_uri("stdin:#7")
    'stdin:#7'
    """
    if path.startswith(("file:", STDIN_URI)):
        return path
    if not path or not _is_nameable(path):
        raise InputError(f"{path!r} is no path; give a path or a uri")
    if is_s3(path):
        return place_of(path).uri
    return _absolute(path).as_uri()


def _expand(path: str, format_name: str | None) -> Iterator[Found | ReadFailure]:
    if path == STDIN:
        yield Found(None, Origin(STDIN_URI), format_name or "text")
        return
    if not path or not _is_nameable(path):
        yield failure(quote(path, errors="replace"), "is no path")
        return
    if is_s3(path):
        yield from _in_s3(path, format_name)
        return
    if path.startswith("s3:/"):  # what a Path makes of it
        yield failure(path, "has lost a slash", mend="give s3://bucket/key as text, not as a Path")
        return
    absolute = _absolute(path)
    try:
        is_folder = absolute.is_dir()
    except OSError:  # for example a name that is too long; opening it says so
        is_folder = False
    if is_folder:
        yield from _walk(absolute, format_name)
    elif glob.has_magic(path) and not os.path.lexists(absolute):
        matches = [Path(match) for match in sorted(glob.glob(str(absolute), recursive=True))]  # noqa: PTH207 - pathlib's shows hidden files
        files = [_found(match, format_name) for match in matches if not match.is_dir()]
        yield from files or [
            failure(absolute.as_uri(), "no file matches", mend="quote the pattern, or check it with ls")
        ]
    else:
        yield _found(absolute, format_name)


def _found(path: Path, format_name: str | None) -> Found | ReadFailure:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        is_link = path.is_symlink()
        return failure(path.as_uri(), "is a link to a file that does not exist" if is_link else "does not exist")
    except OSError as error:
        return failure(path.as_uri(), error.strerror or str(error))
    if not stat.S_ISREG(mode):  # reading a pipe or a device may never end
        return failure(path.as_uri(), "is not a regular file", mend="pipe it in, with - as the path")
    name = os.fsencode(path.name).decode("utf-8", "replace")
    return Found(path, Origin(path.as_uri(), name), format_name or format_of(name))


def _in_s3(path: str, format_name: str | None) -> Iterator[Found | ReadFailure]:
    place = place_of(path)
    is_empty = True
    left_out: Counter[str] = Counter()
    try:
        for item in objects(path):
            inner = item.place.key.removeprefix(place.key) if place.is_folder else ""
            name = item.place.key.rpartition("/")[2]
            if not all(map(_is_shown, inner.split("/"))):
                continue
            if place.is_folder and format_name is None and format_of(name) is None:
                left_out[Path(name).suffix.lower() or name] += 1
                continue
            is_empty = False
            yield Found(None, Origin(item.place.uri, name), format_name or format_of(name), item)
    except ReadError as error:
        yield ReadFailure(error.uri, error)
        return
    except MissingExtraError as error:
        yield failure(place.uri, str(error))
        return
    _warn_left_out(place.uri, left_out)
    if is_empty:
        yield failure(place.uri, "holds no object that can be read", mend="check the path, or give a --format")


def _warn_left_out(uri: str, left_out: Counter[str]) -> None:
    if left_out:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in left_out.most_common(10))
        _logger.warning("%s: left out %d files without a reader: %s", uri, left_out.total(), kinds)


def _walk(root: Path, format_name: str | None) -> Iterator[Found | ReadFailure]:
    is_empty = True
    left_out: Counter[str] = Counter()
    errors: list[OSError] = []
    entered = {root.resolve()}
    for folder, folders, files in os.walk(root, onerror=errors.append, followlinks=True):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if _is_shown(name) and _enters(here / name, root, entered))
        for name in sorted(filter(_is_shown, files)):
            if format_name is None and format_of(name) is None:
                left_out[Path(name).suffix.lower() or name] += 1
            else:
                is_empty = False
                yield _found(here / name, format_name)
    for error in errors:
        is_empty = False
        yield failure(_folder_uri(Path(str(error.filename))), f"cannot be listed: {error.strerror}")
    _warn_left_out(root.as_uri(), left_out)
    if is_empty:
        yield failure(_folder_uri(root), "holds no file that can be read", mend="check the path, or give a --format")


def _enters(folder: Path, root: Path, entered: set[Path]) -> bool:
    """Whether to go into a folder: a link into the folder being walked is not followed, nor anything twice."""
    if not folder.is_symlink():
        return True
    target = folder.resolve()
    if target in entered or target.is_relative_to(root.resolve()):
        return False
    entered.add(target)
    return True


def _is_shown(name: str) -> bool:
    return not name.startswith(_HIDDEN)


def _is_nameable(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _absolute(path: str) -> Path:
    # links stay as they are named: where one like "current" points may change, and the source is still the same
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, absolute() keeps ".."


def _folder_uri(folder: Path) -> str:
    uri = folder.as_uri()
    return uri if uri.endswith("/") else f"{uri}/"
