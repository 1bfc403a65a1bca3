"""The protocol of a retriever: a frozen object that holds the parameters of one strategy and ranks nodes of one kind.

Also here: presets and the parameter ``by``, checks of parameters for ``__post_init__``, and reranking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from hlgraph.algorithms import check
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.index.embed import chunk_text
from hlgraph.models.protocols import ChatModel
from hlgraph.records import Chunk, Hit, Kind, Source, Statement
from hlgraph.retrieve.evidence.basis import Resting
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.session import Search, Session

Why = dict[str, dict[str, float | str]]
UNBOUNDED = 1_000_000
"""A bound that no corpus of an experiment reaches, for the preset ``literal``."""
FOLDED = 5
"""Number of statements that are ranked for each requested chunk, since several statements often belong to one chunk."""

UNITS_OF_ALL: tuple[Unit, ...] = ("statement", "chunk")
"""The units of a retriever that does not name its own."""


class Group(NamedTuple):
    """A community around the statements that a strategy collected, whole.

    Attributes
    ----------
    number : as ``why["community"]`` of its statements, from 1; 0: collected statements outside all communities
    statements : ids, best first; a statement is in one group only
    entities : ids, those that most of the statements mention first
    passages : ids of chunks, best first
    anchors : ids of those statements that were collected
    size : number of all nodes of the community
    """

    number: int
    statements: tuple[str, ...]
    entities: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()
    anchors: frozenset[str] = frozenset()
    size: int = 0


class Ranked(NamedTuple):
    """Nodes, best first, and the parts of each score.

    Attributes
    ----------
    kind : kind of the nodes that are not summaries
    hits : best first
    why : the parts of each score, by id
    summaries : the nodes that are summaries, by id
    groups : communities around the hits, if a report needs them
    """

    kind: Kind
    hits: list[Hit]
    why: Why
    summaries: Mapping[str, Resting] = MappingProxyType({})
    groups: tuple[Group, ...] = ()


By = Literal["rules", "chat"]
"""Who decides in the steps of a strategy that a paper gives to a model: rules, or the chat model."""
Need = Literal["chat", "communities", "hierarchy"]
Needs = tuple[Need, ...]
Presets = Mapping[str, Mapping[str, Any]]
PRESETS: Mapping[str, str] = {
    "paper": "the parameters of the paper",
    "tuned": "tuned for a small embedder",
    "fast": "path in less time",
    "plain": "without the reranker",
    "literal": "the printed numbers of the paper, not fitted to the corpus, and no bound that the paper does not have",
}
"""The presets, and what each is for. A strategy that does not define a preset uses the parameters of the paper."""


class Retriever(Protocol):
    """One strategy: a frozen dataclass whose fields are its parameters, with the defaults of the paper.

    A class in a file of its own in ``hlgraph/retrieve/strategies/`` is registered by its file name; help, ``eval`` and the
    documentation list it. The class attributes describe it; all but ``unit`` are optional for a retriever that is passed as an
    object.

    Attributes
    ----------
    name : its name in ``--strategy``; the name of its file without a trailing underscore
    unit : the unit that it ranks, ``statement`` or ``chunk``
    returned : the default unit of its evidence; without it ``unit``
    units : the units that its evidence may have; without it ``statement`` and ``chunk``
    diversity : default diversity of its evidence, a TF-IDF cosine of 1 - diversity (0, the default, keeps all)
    needs : requirements besides the corpus: ``chat`` (a chat model), ``communities`` (the extra), ``hierarchy`` (a built one)
    presets : parameters by the name of a preset, see ``PRESETS``

    A strategy with steps that a chat model can take has the parameter ``by``, which is ``rules`` unless a caller asks for
    ``chat``: see :func:`check_by`, :func:`chat_of` and :func:`with_by`.

    A strategy may have a method ``searches(request, k)``, which returns the searches that :meth:`rank` starts with, so that they
    are sent together with those of other strategies: see :func:`searches_of`.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    unit: ClassVar[Unit]

    def rank(self, session: Session, k: int) -> Ranked:
        """At least ``k`` nodes, if the corpus has that many, best first.

        Parameters
        ----------
        session : the stores, within the scope of the request
        k : number of wanted nodes

        Returns
        -------
        Ranked
        """


def searches_of(retriever: Retriever, request: SearchRequest, *, k: int) -> list[Search]:
    """The searches that a retriever starts with; empty if it has no method ``searches``.

    Parameters
    ----------
    retriever : the retriever
    request : the question, and the mode of its searches
    k : number of wanted nodes
    """
    declared: Callable[[SearchRequest, int], list[Search]] | None = getattr(retriever, "searches", None)
    return declared(request, k) if declared is not None else []


def search_ahead(session: Session, searches: Sequence[Search]) -> None:
    """Send searches concurrently, and read the records that are always needed, one round trip per kind.

    These are the records of statements and chunks, and, if the same question is searched by vector, the vectors of statements
    found by their words, because the reranker compares all of them with the question.

    Parameters
    ----------
    session : notes each search when it is requested
    searches : those that were sent before are skipped; a single new one is not sent ahead
    """
    hits_of = session.send(searches)
    ids: dict[Kind, dict[str, None]] = {Kind.STATEMENT: {}, Kind.CHUNK: {}}
    near: dict[str, set[str]] = {}
    for search, hits in hits_of.items():
        ids.get(search.kind, {}).update(dict.fromkeys(hit.id for hit in hits))
        if (search.kind, search.mode) == (Kind.STATEMENT, "vector"):
            near.setdefault(search.question, set()).update(hit.id for hit in hits)
    session.records(Statement, list(ids[Kind.STATEMENT]))
    session.records(Chunk, list(ids[Kind.CHUNK]))
    by_words = [
        search
        for search in hits_of
        if (search.kind, search.mode) == (Kind.STATEMENT, "text") and search.question in near
    ]
    session.vectors(
        Kind.STATEMENT, sorted({hit.id for search in by_words for hit in hits_of[search]} - set().union(*near.values()))
    )


_R = TypeVar("_R", bound="Retriever")


def with_preset(strategy: type[_R], preset: str) -> _R:
    """The retriever of a strategy with the parameters of a preset.

    Parameters
    ----------
    strategy : the class of the strategy
    preset : a name of ``PRESETS``

    Returns
    -------
    Retriever
        With the parameters of the paper if the strategy does not define the preset.

    Raises
    ------
    UnknownNameError : there is no such preset
    """
    if preset not in PRESETS:
        raise UnknownNameError(f"there is no preset {preset!r}; choose one of: {', '.join(sorted(PRESETS))}")
    presets: Presets = getattr(strategy, "presets", {})
    return strategy(**presets.get(preset, {}))


def units_of(retriever: Retriever | type[Retriever]) -> tuple[Unit, ...]:
    """The units that the evidence of a retriever may have."""
    return getattr(retriever, "units", UNITS_OF_ALL)


def by_of(retriever: object) -> By | None:
    """Who decides in the steps of a retriever that a chat model can take; None if it has no such step."""
    return getattr(retriever, "by", None)


def check_by(by: str) -> None:
    """Raise InputError for a value other than ``rules`` or ``chat``."""
    if by not in ("rules", "chat"):
        raise InputError(f"by is {by!r}; choose 'rules' or 'chat'")


def check_deciders(by: By, *replacements: object) -> None:
    """Check ``by`` of a retriever whose steps can be replaced; for ``__post_init__``.

    Parameters
    ----------
    by : ``rules`` or ``chat``
    replacements : one per step; None: the step is not replaced

    Raises
    ------
    InputError
        ``by`` is another word, or it is ``chat`` and every step that the chat model would take is replaced.
    """
    check_by(by)
    if by == "chat" and None not in replacements:
        names = ", ".join(str(getattr(replacement, "fingerprint", replacement)) for replacement in replacements)
        raise InputError(
            f"by is 'chat', and every step that the chat model would take is replaced ({names}); leave one of them out"
        )


def with_by(retriever: _R, by: By) -> _R:
    """The retriever with another value of ``by``.

    Parameters
    ----------
    retriever : the retriever
    by : ``rules`` or ``chat``

    Returns
    -------
    Retriever
        The same object if it has no step that a chat model can take and ``by`` is ``rules``.

    Raises
    ------
    InputError : ``by`` is ``chat``, and there is no step that the model can take
    """
    check_by(by)
    if by_of(retriever) is not None:
        changes: dict[str, Any] = {"by": by}
        return replace(retriever, **changes)
    if by == "chat":
        name = getattr(retriever, "name", type(retriever).__name__)
        raise InputError(f"by is 'chat', and the strategy {name} has no step that a chat model can take; leave it out")
    return retriever


def chat_of(session: Session) -> ChatModel:
    """The chat model of a session. Raises InputError if none is configured."""
    if session.chat is None:
        raise InputError(
            "by is 'chat', and no chat model is configured; name one in models.chat or HLGRAPH_CHAT (such as "
            "openai:gpt-4o-mini), or leave by at 'rules'"
        )
    return session.chat


def check_counts(retriever: Retriever, *, zero: Collection[str] = ()) -> None:
    """Check the counts among the parameters of a retriever; for ``__post_init__``.

    Parameters
    ----------
    retriever : its whole-number fields are the counts
    zero : names of counts that may be 0; the others must be at least 1

    Raises
    ------
    InputError
        A count is not a whole number, or too low.
    """
    for parameter in fields(retriever):
        value = getattr(retriever, parameter.name)
        kinds = str(parameter.type).split(" | ")
        if "int" not in kinds or "float" in kinds or (value is None and "None" in kinds):
            continue
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise InputError(f"{parameter.name} is {value!r}; it must be a whole number")
        check.at_least(int(parameter.name not in zero), **{parameter.name: int(value)})


def check_choice(name: str, value: object, *, choices: Sequence[str]) -> None:
    """Check that a parameter is one of several words; for ``__post_init__``.

    Parameters
    ----------
    name, value : of the parameter
    choices : the words

    Raises
    ------
    InputError
        It is another value; the message lists the words.

    Examples
    --------
    >>> check_choice("stages", "third", choices=("both", "first"))
    Traceback (most recent call last):
        ...
    hlgraph.errors.InputError: stages is 'third'; choose one of: both, first
    """
    if value not in choices:
        raise InputError(f"{name} is {value!r}; choose one of: {', '.join(choices)}")


def check_unused(retriever: Retriever, names: Collection[str], *, because: str, mend: str) -> None:
    """Check that parameters without effect are not given; for ``__post_init__``.

    A parameter counts as given if it is neither its default, nor its value in a preset, nor 0, which turns a part off.

    Parameters
    ----------
    retriever : has the parameters
    names : of parameters that have no effect
    because : why they have none
    mend : what to change so that they have one

    Raises
    ------
    InputError
        One is given.
    """
    presets: Presets = getattr(retriever, "presets", {})
    for parameter in fields(retriever):
        name, value = parameter.name, getattr(retriever, parameter.name)
        usual = (0, parameter.default, *(preset[name] for preset in presets.values() if name in preset))
        if name in names and value not in usual:
            raise InputError(f"{name} is {value!r}, but {because}; leave {name} out, or {mend}")


def by_score(scores: Mapping[str, float]) -> list[Hit]:
    """Nodes by their scores, best first, ties by id."""
    return sorted((Hit(item, score) for item, score in scores.items()), key=lambda hit: (-hit.score, hit.id))


def as_searched(kind: Kind, hits: list[Hit], *, session: Session) -> Ranked:
    """Hits in the order of the search.

    Parameters
    ----------
    kind : of the hits
    hits : best first
    session : names the mode of the search

    Returns
    -------
    Ranked
    """
    return Ranked(kind, hits, {hit.id: {session.request.mode: hit.score} for hit in hits})


def rerank(session: Session, kind: Kind, *, ids: Sequence[str]) -> Ranked:
    """Order nodes by the reranker, ties by text, then by id; the same nodes are reranked once per question.

    Parameters
    ----------
    session : reads the texts
    kind : of the nodes
    ids : of the nodes

    Returns
    -------
    Ranked
        With the score of the reranker and the cosine of each.
    """
    key = (session.request.question, kind, tuple(ids))
    if key not in session.reranked:
        session.reranked[key] = _scored(session, kind, ids)
    hits, cosines = session.reranked[key]
    gone = {"record is gone": len(ids) - len(hits)}
    session.note_hop(Hop(-1, len(ids), len(hits), gone, hits, kind, name="rerank"))
    why: Why = {hit.id: {"rerank": hit.score, "cosine": cosines.get(hit.id, 0.0)} for hit in hits}
    return Ranked(kind, list(hits), why)


def _scored(session: Session, kind: Kind, ids: Sequence[str]) -> tuple[list[Hit], dict[str, float]]:
    cosines = session.similarities(kind, ids)
    texts = _texts(session, kind, ids)
    known = [item for item in ids if item in texts]
    with session.step("rerank") as step:
        similarities = np.array([cosines.get(item, 0.0) for item in known], dtype=np.float32)
        scores = session.rerank([texts[item] for item in known], similarities=similarities).tolist()
        step.count = len(known)
        step.details = {"reranker": session.reranker.fingerprint}
    order = sorted(zip([-score for score in scores], [texts[item] for item in known], known, strict=True))
    return [Hit(item, -score) for score, _, item in order], cosines


def _texts(session: Session, kind: Kind, ids: Sequence[str]) -> dict[str, str]:
    if kind is Kind.STATEMENT:
        return {item: record.text for item, record in session.records(Statement, ids).items()}
    chunks = session.records(Chunk, ids)
    sources = session.records(Source, sorted({chunk.source_id for chunk in chunks.values()}))
    return {
        item: chunk_text(sources[chunk.source_id].title, chunk.text)
        for item, chunk in chunks.items()
        if chunk.source_id in sources
    }
