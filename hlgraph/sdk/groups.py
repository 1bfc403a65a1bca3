"""The groups of the sources of a corpus: who may see what; see :mod:`hlgraph.where`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.ingest.delete import filtered, named, sources_of
from hlgraph.ingest.history import record, synchronise
from hlgraph.persist.assemble import Extracted, assemble
from hlgraph.persist.compare import ChunkPlan, Comparison
from hlgraph.persist.journal import persist, resume
from hlgraph.records import Document, Source
from hlgraph.sdk.arguments import checked, parsed
from hlgraph.stores.one_state import in_one_state
from hlgraph.stores.protocols import Stores
from hlgraph.text import ACL, groups_of
from hlgraph.where import AnyWhere


@checked
@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of the sources of one corpus. A change touches metadata only, and holds from the next search on.

    It holds for the past as well (:class:`hlgraph.ingest.history.History`).

    Parameters
    ----------
    corpus, stores : the corpus, and the open stores

    Examples
    --------
    ::

        graph.groups.set("finance", uris="reports/")
        graph.as_caller({"finance"}).search("What did the repairs cost?")
    """

    corpus: str
    stores: Stores

    def list(self) -> dict[str, int]:
        """The number of sources of each group, by name; under the empty name those that only operators see."""
        sources = in_one_state(
            self.stores, self.corpus, read=lambda: filtered(None, corpus=self.corpus, graph=self.stores.graph)
        )
        counts = Counter(name for source in sources for name in _groups(source) or ("",))
        return dict(sorted(counts.items()))

    def set(self, groups: str | Sequence[str], *, uris: str | Sequence[str] = (), where: AnyWhere | None = None) -> int:
        """Replace the groups of sources.

        Parameters
        ----------
        groups : at least one; ``;`` separates several in a text
        uris : uris or paths of sources, or folders of them
        where : a filter over the metadata of sources, in place of ``uris``

        Returns
        -------
        int
            The number of sources whose groups changed.

        Raises
        ------
        InputError : no group, or not exactly one of ``uris`` and ``where``
        UnknownNameError : there is no such corpus, or a uri is not in it; nothing is changed
        WhereError : the filter names a field that no source has; nothing is changed
        """
        return self._change(groups_of(groups), uris, where)

    def clear(self, *, uris: str | Sequence[str] = (), where: AnyWhere | None = None) -> int:
        """Remove the groups of sources: only operators see them. When no source has groups, the corpus needs no caller.

        Parameters
        ----------
        uris, where : see :meth:`set`

        Returns
        -------
        int
            The number of sources whose groups changed.

        Raises
        ------
        InputError, UnknownNameError, WhereError : see :meth:`set`
        """
        return self._change((), uris, where)

    def _change(self, groups: tuple[str, ...], uris: str | Sequence[str], where: AnyWhere | None) -> int:
        if bool(uris) == (where is not None):
            raise InputError("say which sources in one way: by uris (--uri), or by a filter (--where)")
        names = [uris] if isinstance(uris, str) else list(uris)
        graph = self.stores.graph
        if not graph.stats(self.corpus, has_counts=False):
            raise UnknownNameError(f"there is no corpus {self.corpus!r}; ingest something first")
        is_kept = synchronise(self.stores, self.corpus)
        with graph.lock(self.corpus) as pending:
            resume(pending, self.stores, corpus=self.corpus)
            if names:
                sources = sources_of(names, corpus=self.corpus, graph=graph)
                chosen = named(sources, names, corpus=self.corpus, did="changed")
                sources = list({source.id: source for some in chosen.values() for source in some}.values())
            else:
                sources = filtered(parsed(where), corpus=self.corpus, graph=graph)
            changed = [source for source in sources if source.metadata.get(ACL, ()) != groups]
            if changed:
                batch = [Extracted(_comparison(source, groups), ChunkPlan(), ()) for source in changed]
                persist(assemble(self.corpus, batch), self.stores)
        if is_kept:
            record(self.stores, self.corpus)
        return len(changed)


def _groups(source: Source) -> tuple[str, ...]:
    """The groups that admit callers. The field may be of an hlgraph that stored it as any other: only a caller's name counts."""
    value = source.metadata.get(ACL, ())
    names = value if isinstance(value, tuple) else (value,)
    return tuple(name for name in names if isinstance(name, str) and name and name == name.strip() and ";" not in name)


def _comparison(source: Source, groups: tuple[str, ...]) -> Comparison:
    """The source with other groups, and the same text."""
    metadata = {key: value for key, value in source.metadata.items() if key != ACL}
    after = replace(source, metadata={**metadata, ACL: groups} if groups else metadata)
    return Comparison(Document(source.uri, "", source.title, after.metadata), after, source, has_new_text=False)
