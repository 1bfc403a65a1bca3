"""The sources that a filter admits, decided in process and cached for one state of a corpus.

Cypher is never built from a filter. The sources of a corpus are read in pages, ``hlgraph.where.matches`` decides on each,
and queries receive ids: of the admitted sources, or of the others if these are fewer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from hlgraph.records import Source
from hlgraph.stores.neo4j.image_changes import State
from hlgraph.stores.neo4j.rows import metadata
from hlgraph.stores.neo4j.server import Row, Server
from hlgraph.stores.protocols import Scope
from hlgraph.where import Where, matches, source_values

PAGE = 20_000
_KEPT = 32


@dataclass(frozen=True, slots=True)
class Admitted:
    """A scope as query parameters: without ``has_scope`` all sources are visible, else if ``(source in listed) == admits``."""

    has_scope: bool
    listed: tuple[str, ...]
    admits: bool

    def flags(self) -> Row:
        """The parameters beside the list, by their names in the queries."""
        return {"has_scope": self.has_scope, "admits": self.admits}


EVERYTHING = Admitted(has_scope=False, listed=(), admits=False)


class Filters:
    """Decides on filters, and caches the last decisions."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: OrderedDict[tuple[str, State, Where], Admitted] = OrderedDict()

    def admitted(self, scope: Scope, state: State) -> Admitted:
        """The sources that a scope admits.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : state of the corpus that the caller reads
        """
        if scope.where is None:
            if scope.sources is None:
                return EVERYTHING
            return Admitted(has_scope=True, listed=tuple(sorted(set(scope.sources))), admits=True)
        found = self._decide(scope.corpus, state, scope.where)
        if scope.sources is None:
            return found
        listed = set(found.listed)
        both = sorted(item for item in set(scope.sources) if (item in listed) == found.admits)
        return Admitted(has_scope=True, listed=tuple(both), admits=True)

    def has(self, scope: Scope, state: State) -> bool:
        """Whether nothing need be read to decide on a scope.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : state of the corpus that the caller reads
        """
        return scope.where is None or (scope.corpus, state, scope.where) in self._known

    def _decide(self, corpus: str, state: State, where: Where) -> Admitted:
        key = (corpus, state, where)
        found = self._known.get(key)
        if found is None:
            inside: list[str] = []
            outside: list[str] = []
            for source in self._sources(corpus):
                (inside if matches(where, source_values(source)) else outside).append(source.id)
            admits = len(inside) <= len(outside)
            found = Admitted(has_scope=True, listed=tuple(inside if admits else outside), admits=admits)
            self._known[key] = found
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return found

    def _sources(self, corpus: str) -> Iterator[Source]:
        after = ""
        while True:
            page = self._page(corpus, after)
            for row in page:
                yield Source(
                    str(row["id"]), corpus, str(row["uri"]), str(row["title"]), "", metadata(str(row["metadata"]))
                )
            if len(page) < PAGE:
                return
            after = str(page[-1]["id"])

    def _page(self, corpus: str, after: str) -> list[Row]:
        return self._server.read(
            lambda transaction: transaction.rows("retrieve/list_sources", corpus=corpus, after=after, size=PAGE)
        )
