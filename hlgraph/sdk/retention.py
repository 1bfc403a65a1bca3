"""Holds on sources, which refuse that they are deleted or replaced, and receipts of what was deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.ingest.delete import filtered, full_name, named, sources_of
from hlgraph.ingest.receipts import Receipt, joined, read_receipts, retention_of
from hlgraph.persist.journal import resume
from hlgraph.read import is_covered
from hlgraph.records import Source
from hlgraph.sdk.arguments import checked, checking, parsed
from hlgraph.stores.batches import batched
from hlgraph.stores.derived import Hold
from hlgraph.stores.protocols import Scope, Stores, existing, read_records
from hlgraph.where import to_text

if TYPE_CHECKING:
    from hlgraph.where import AnyWhere


_LONGEST = 200
_LOOKED_UP = 5_000


@checked
@dataclass(frozen=True, slots=True)
class Holds:
    """The holds of one corpus. A source under a hold is not deleted, and no edit removes its text, title or metadata.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.holds.add("case 12", where="author = 'Quill'")
            graph.holds.release("case 12")
    """

    corpus: str
    stores: Stores

    def add(self, name: str, uris: str | Sequence[str] = (), *, where: AnyWhere | None = None) -> Hold:
        """Add a hold on sources. It also is on sources that come later under its uris, or match its filter.

        Parameters
        ----------
        name : name of the hold, new in the corpus
        uris : uris or paths of sources, or folders of them
        where : a filter over the metadata of sources, in place of uris

        Returns
        -------
        Hold

        Raises
        ------
        InputError : not exactly one of the two is given, no source is named, or the name cannot be used or is there already
        UnknownNameError : there is no such corpus, or a uri is not in it
        WhereError : the filter names a field that no source has
        StoreLockedError : another process is writing
        """
        if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > _LONGEST:
            raise InputError(f"{name!r} is no name of a hold; give one line of 1 to {_LONGEST} characters")
        if bool(uris) + (where is not None) != 1:
            raise InputError("say what to hold in one way: by uris (--uri), or by a filter (--where)")
        graph, corpus, retention = self.stores.graph, self.corpus, retention_of(self.stores)
        existing(graph, corpus)
        chosen = parsed(where)
        with graph.lock(corpus) as pending:
            resume(pending, self.stores, corpus=corpus)
            if any(hold.name == name for hold in retention.holds(corpus)):
                raise InputError(
                    f"corpus {corpus!r} has a hold {name!r} already; choose another name, or release it first"
                )
            names = [uris] if isinstance(uris, str) and uris else list(uris)
            if chosen is None:
                by_name = named(sources_of(names, corpus=corpus, graph=graph), names, corpus=corpus, did="held")
                sources = [source for some in by_name.values() for source in some]
                names = [_stored_name(each, some) for each, some in by_name.items()]
            else:
                sources = filtered(chosen, corpus=corpus, graph=graph)
            text = "" if chosen is None else to_text(chosen)
            if not sources:
                raise InputError(f"no source of corpus {corpus!r} matches {text}; there is nothing to hold")
            ids = tuple(sorted({source.id for source in sources}))
            at = datetime.now(UTC).isoformat(timespec="seconds")
            hold = Hold(corpus, name, tuple(dict.fromkeys(names)), text, ids, at)
            retention.add(hold)
        return hold

    def list(self) -> tuple[Hold, ...]:
        """The holds of the corpus, by name."""
        return retention_of(self.stores).holds(self.corpus)

    def release(self, name: str) -> Hold:
        """Remove a hold; its sources can be deleted again. Raises UnknownNameError if there is none of this name."""
        retention = retention_of(self.stores)
        if not retention.holds(self.corpus):
            raise UnknownNameError(f"corpus {self.corpus!r} has no hold {name!r}; it has none")
        with self.stores.graph.lock(self.corpus):
            holds = {hold.name: hold for hold in retention.holds(self.corpus)}
            if name not in holds:
                raise UnknownNameError(f"corpus {self.corpus!r} has no hold {name!r}; it has {', '.join(holds)}")
            retention.release(holds[name])
        return holds[name]


def _stored_name(name: str, sources: Sequence[Source]) -> str:
    """The uri that a name stands for, independent of the working directory."""
    path, mark, row = name.partition("#")
    candidates = [full_name(name), f"{full_name(path)}{mark}{row}"] if path else [full_name(name)]
    if any(source.uri == name for source in sources):
        return name
    return next(
        (each for each in candidates if any(is_covered(source.uri, {each, f"{each}/"}) for source in sources)), name
    )


@dataclass(frozen=True, slots=True)
class VerifiedReceipts:
    """Receipts whose chain is as it was written.

    Attributes
    ----------
    receipts : by number
    returned : ids of sources in them that the store has again; empty if no store was compared
    missing : number of later receipts that the store knows and the file lacks; 0 if no store was compared
    """

    receipts: tuple[Receipt, ...]
    returned: tuple[str, ...] = ()
    missing: int = 0


@checking
def verify_receipts(path: str | Path) -> VerifiedReceipts:
    """Verify a file of receipts: the content and the hash of each, and that each follows the one before it. Needs no store.

    Parameters
    ----------
    path : the file that ``delete(receipt=...)`` wrote

    Returns
    -------
    VerifiedReceipts

    Raises
    ------
    InputError : the file has no receipts, or was altered; names the first wrong receipt
    """
    receipts = read_receipts(Path(path))
    if not receipts:
        raise InputError(f"{path}: is empty, it has no receipts; give a file of receipts")
    return VerifiedReceipts(receipts)


@checked
@dataclass(frozen=True, slots=True)
class Receipts:
    """The receipts of deletions from one corpus, compared with its store.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it
    """

    corpus: str
    stores: Stores

    def verify(self, path: str | Path) -> VerifiedReceipts:
        """Verify a file of receipts as :func:`hlgraph.verify_receipts` does, and compare it with the store.

        Parameters
        ----------
        path : the file

        Returns
        -------
        VerifiedReceipts
            ``returned``: sources that were ingested again; ``missing``: later receipts, which are in another file or were cut off.

        Raises
        ------
        InputError : the file has no receipts or was altered, or its receipts are of another corpus or of another store
        """
        receipts = verify_receipts(path).receipts
        last = retention_of(self.stores).last_receipt(self.corpus)
        is_joined = joined(receipts, last, path=Path(path), corpus=self.corpus)
        ids = list(dict.fromkeys(name for receipt in receipts for name in receipt.ids))
        returned = [
            name
            for part in batched(ids, _LOOKED_UP)
            for name in read_records(self.stores.graph, Source, ids=part, scope=Scope(self.corpus))
        ]
        return VerifiedReceipts(receipts, tuple(returned), 0 if is_joined else last.number - receipts[-1].number)
