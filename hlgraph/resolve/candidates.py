"""SYNONYM edges between entities with similar names, and undecided pairs of entities that may be the same.

:func:`synonyms` computes the edges from name vectors (PropRAG, section 4.2: a cosine of at least 0.8).
:func:`lexical_pairs` finds similar spellings: equal words, initials, a name contained in another, one letter changed. It
compares only names in a common block, keyed by letters, initials, rare words and halves of names, never all pairs.
:func:`find_candidates` combines them with the SYNONYM edges.
"""

from __future__ import annotations

import re
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.algorithms import check
from hlgraph.algorithms.calibration import fitted_cosine
from hlgraph.algorithms.similarity import Pairs, ThresholdIndex, pairs_within
from hlgraph.change import Synonym, VectorBlock
from hlgraph.errors import InputError, StoreUnavailableError
from hlgraph.ids import normalise_name
from hlgraph.records import Calibration, Entity, Kind, Relationship
from hlgraph.stores import files
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import Decision, PullShape, Scope, Stores, by_id, find_records, grouped, read_records
from hlgraph.subgraph import KINDS
from hlgraph.text import cached_by_text

# SYNONYM edges between entities whose names have similar vectors.

SYNONYM_THRESHOLD = 0.8
"""Lowest cosine of two names that makes them synonyms, for the shipped embedder; :func:`least_synonym` fits it to a corpus."""

_LETTERS = 3
_SAMPLE = 4_096  # entities that give an index its directions
_DIGITS = re.compile(r"\d+")
_AMOUNT = re.compile(r"[$€£¥₹]?\s*\d")  # also an amount of money: "$4 million"
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")


def is_eligible(name: str) -> bool:
    """Whether a normalised name can have synonyms: it has at least three letters and is neither a number nor a date.

    Similar numbers and dates mean different things. As synonyms, all years would form one clique.

    Examples
    --------
    >>> [is_eligible(name) for name in ("lothair ii", "12 km", "may 1990", "$4 million", "eu", "apollo 11")]
    [True, False, False, False, False, True]
    """
    letters = sum(map(str.isalpha, name))
    has_digits = bool(_DIGITS.search(name))
    return letters >= _LETTERS and not _AMOUNT.match(name) and not (has_digits and _MONTH.search(name))


def least_synonym(calibration: Calibration | None, usual: float = SYNONYM_THRESHOLD) -> float:
    """Lowest cosine of two names of a corpus that makes them synonyms: ``usual``, fitted to the scale of the corpus.

    Parameters
    ----------
    calibration : calibration of the corpus; None returns ``usual``
    usual : the cosine for the shipped embedder, default 0.8
    """
    return usual if calibration is None else fitted_cosine(usual, Kind.ENTITY, calibration=calibration)


def synonyms(
    names: Mapping[str, str],
    new: Sequence[str],
    *,
    matrix: NDArray[np.float32],
    corpus: str,
    stores: Stores,
    least: float = SYNONYM_THRESHOLD,
) -> Iterator[Synonym]:
    """Synonym pairs of a new entity and any other, stored or new. Each pair occurs once, in ascending order of ids.

    Names with digits are synonyms only if the digits are equal. For a fixed ``least`` the pairs do not depend on how the
    entities were divided into changes.

    Parameters
    ----------
    names : normalised name of each new entity, by id
    new : ids of the new entities
    matrix : their vectors, shape (n, d)
    corpus : the corpus of the entities
    stores : where stored entities are looked up
    least : lowest cosine of a pair, default 0.8

    Returns
    -------
    Iterator
        Links ordered by their pair of ids.
    """
    at = [place for place, name in enumerate(new) if is_eligible(names[name])]
    if not at:
        return
    chosen = [(new[place], names[new[place]]) for place in at]
    rows = np.ascontiguousarray(matrix[at])
    yield from _linked(pairs_within(rows, threshold=least), chosen, chosen, rows, _Stored(corpus, stores, least))


class _Stored(NamedTuple):
    """The stored entities of a corpus, and the lowest cosine of a pair."""

    corpus: str
    stores: Stores
    least: float


def _linked(
    inside: Pairs,
    chosen: Sequence[tuple[str, str]],
    others: Sequence[tuple[str, str]],
    rows: NDArray[np.float32],
    stored: _Stored,
) -> Iterator[Synonym]:
    """The synonyms of some new entities: among ``others``, which are new too, and among those that are stored.

    Parameters
    ----------
    inside : pairs of places in ``chosen`` and in ``others``
    chosen, others : id and normalised name of entities
    rows : the vectors of ``chosen``
    stored : the stored entities
    """
    cosines: dict[tuple[str, str], float] = {}
    for a, b, cosine in zip(*(column.tolist() for column in inside), strict=True):
        (one, name), (other, name_of_other) = chosen[a], others[b]
        if _digits(name) == _digits(name_of_other):
            cosines[_pair(one, other)] = cosine
    corpus, stores, least = stored
    near = stores.vectors.neighbours(Kind.ENTITY, corpus, vectors=rows, threshold=least)
    entities = read_records(stores.graph, Entity, ids=sorted(set(near.ids)), scope=Scope(corpus))
    names = {name: normalise_name(entity.name) for name, entity in entities.items()}
    for a, other, cosine in zip(near.queries, near.ids, near.similarities, strict=True):
        (one, name), name_of_other = chosen[a], names.get(other, "")
        if other != one and name_of_other and is_eligible(name_of_other) and _digits(name) == _digits(name_of_other):
            cosines[_pair(one, other)] = float(cosine)
    for (a, b), cosine in sorted(cosines.items()):
        yield Synonym(a, b, round(cosine, 5))


def all_synonyms(corpus: str, stores: Stores, *, least: float) -> list[Synonym]:
    """The synonyms of all entities of a corpus by their stored vectors, each pair once: those that one ingest of it would find.

    Each part of the names is compared with itself and those before it. The vectors are in a temporary file meanwhile.

    Parameters
    ----------
    corpus : the corpus
    stores : hold the entities and their vectors
    least : lowest cosine of a pair

    Returns
    -------
    list
        In ascending order of ids.
    """
    entities = find_records(stores.graph, Entity, scope=Scope(corpus))
    names = {one.id: text for one in entities if is_eligible(text := normalise_name(one.name))}
    pairs: list[Synonym] = []
    known: list[str] = []
    index: ThresholdIndex | None = None
    with progress.step("pair", len(names), unit="names"), files.scratch_file() as out:
        for part in batched(sorted(names), _SAMPLE):
            ids, rows = stores.vectors.vectors(Kind.ENTITY, corpus, ids=part)
            if ids:
                index = ThresholdIndex(rows) if index is None else index
                index.attach(_appended(out, rows, len(known) + len(ids)))
                near = index.query(rows, threshold=least)
                is_earlier = near.base < near.queries + len(known)
                columns = (column[is_earlier].tolist() for column in near)
                first, known = len(known), [*known, *ids]
                for one, other, cosine in zip(*columns, strict=True):
                    a, b = known[other], known[first + one]
                    if _digits(names[a]) == _digits(names[b]):
                        pairs.append(Synonym(a, b, round(cosine, 5)))
            progress.advance("pair", len(part))
    return sorted(pairs)


def _appended(out: IO[bytes], rows: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The rows of a temporary file, mapped, after some more were written to its end."""
    try:
        out.write(rows.tobytes())
        out.flush()
    except OSError as error:
        raise StoreUnavailableError(
            f"{tempfile.gettempdir()}: cannot write the vectors that are compared ({error.strerror}); free some space, or set "
            "TMPDIR to another folder, and run the same command again"
        ) from error
    return np.memmap(out, dtype=np.float32, mode="r", shape=(count, rows.shape[1]))


class SynonymFinder:
    """Finds the pairs of :func:`synonyms` for the new entities of a change that is too large for memory, part by part.

    Parameters
    ----------
    corpus : the corpus of the entities
    stores : where stored entities are looked up
    least : lowest cosine of a pair
    """

    def __init__(self, corpus: str, stores: Stores, *, least: float) -> None:
        self._stored = _Stored(corpus, stores, least)
        self._index: ThresholdIndex | None = None
        self._entities: list[tuple[str, str]] = []
        self._places: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def pairs(self, block: VectorBlock, rows: NDArray[np.float32], *, without: Collection[str]) -> Iterator[Synonym]:
        """The synonyms of the entities of a part among those of the parts up to it, and among stored ones.

        Parameters
        ----------
        block : ids and texts of the entities
        rows : the vectors of all entities up to these, shape (n, d), such as a memory map
        without : ids of entities that are stored, so that they count as such
        """
        first, known = len(rows) - len(block.ids), len(self._entities)
        fresh = enumerate(zip(block.ids, block.texts, strict=True), first)
        chosen = [(place, pair) for place, pair in fresh if is_eligible(pair[1]) and pair[0] not in without]
        if self._index is None:
            self._index = ThresholdIndex(np.asarray(rows[:_SAMPLE]))
        if not chosen:
            return
        at = np.array([place for place, _ in chosen], dtype=np.intp)
        self._entities += [pair for _, pair in chosen]
        self._places = np.concatenate([self._places, at])
        self._index.attach(rows, places=self._places)
        vectors = np.ascontiguousarray(rows[at])
        near = self._index.query(vectors, threshold=self._stored.least)
        is_earlier = near.base < near.queries + known
        inside = Pairs(near.queries[is_earlier], near.base[is_earlier], near.similarities[is_earlier])
        yield from _linked(inside, self._entities[known:], self._entities, vectors, self._stored)


@cached_by_text(65_536)
def _digits(name: str) -> tuple[str, ...]:
    return tuple(_DIGITS.findall(name))


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


Pair = tuple[str, str]

SAME_WORDS = "same words"
INITIALS = "initials"
CONTAINED = "contained"
ONE_LETTER = "one letter"

_SMALL = frozenset(
    (
        *("a", "an", "and", "at", "for", "in", "of", "on", "the", "to"),
        *("da", "de", "del", "der", "des", "di", "die", "du", "el", "et", "la", "le", "und", "van", "von", "y"),
    )
)
_DOTS = re.compile(r"(?<!\d)[.'’]|[.'’](?!\d)")
_OTHER = re.compile(r"[^\w\s]|_")
_LEAST = 6  # characters of the shortest names that are compared for one changed letter


def fold(name: str) -> str:
    """A normalised name without accents on Latin letters, punctuation and a leading "the"; "&" becomes "and".

    Examples
    --------
    >>> fold("the u.s.a."), fold("saint-étienne"), fold("marks & spencer"), fold("windows 3.11")
    ('usa', 'saint etienne', 'marks and spencer', 'windows 3 11')
    """
    plain = "".join(_bare(letter) for letter in name)
    words = _OTHER.sub(" ", _DOTS.sub("", plain.replace("&", " and "))).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def _bare(letter: str) -> str:
    parts = unicodedata.normalize("NFKD", letter)
    return parts[0] if len(parts) > 1 and "a" <= parts[0] <= "z" else letter


def lexical_pairs(names: Mapping[str, str], *, block: int = 50) -> dict[Pair, tuple[str, ...]]:
    """Pairs of ids whose names may mean the same, with the kinds of evidence.

    Names with digits are paired only if the digits are equal. Names that cannot have synonyms are left out.

    Parameters
    ----------
    names : normalised name by id
    block : largest number of names in a block, default 50; the names of a larger block are not compared

    Returns
    -------
    dict
        Each pair once and ascending, with its kinds of evidence in alphabetical order.

    Notes
    -----
    O(n block) comparisons for n names.

    Examples
    --------
    >>> pairs = lexical_pairs({"1": "world health organization", "2": "who", "3": "mara quill", "4": "m. quill"})
    >>> sorted(pairs.items())
    [(('1', '2'), ('initials',)), (('3', '4'), ('initials',))]
    """
    folded = {key: fold(name) for key, name in sorted(names.items()) if is_eligible(name)}
    pairs: dict[Pair, tuple[str, ...]] = {}
    for a, b in _near(folded, most=block):
        pair = min(a, b), max(a, b)
        if pair not in pairs and _digits(folded[a]) == _digits(folded[b]):
            pairs[pair] = tuple(sorted(evidence(folded[a], folded[b])))
    return {pair: some for pair, some in sorted(pairs.items()) if some}


def evidence(one: str, other: str) -> Iterator[str]:
    """Kinds of evidence that two names mean the same.

    Parameters
    ----------
    one : a name, folded by :func:`fold`
    other : a name, folded by :func:`fold`

    Returns
    -------
    Iterator
        Any of ``SAME_WORDS``, ``INITIALS``, ``CONTAINED`` and ``ONE_LETTER``; equal words exclude the others.

    Examples
    --------
    >>> list(evidence("quill", "mara quill")), list(evidence("tessing", "tesing")), list(evidence("orne", "tessing"))
    (['contained'], ['one letter'], [])
    """
    if one == other or one.replace(" ", "") == other.replace(" ", ""):
        yield SAME_WORDS
        return
    words, others = one.split(), other.split()
    if one in _initials(others) or other in _initials(words) or _is_shortened(words, others):
        yield INITIALS
    few, many = sorted((frozenset(words) - _SMALL, frozenset(others) - _SMALL), key=len)
    if few < many and any(len(word) > 2 for word in few):
        yield CONTAINED
    if min(len(one), len(other)) >= _LEAST and _differ_in_one(one, other):
        yield ONE_LETTER


def _near(folded: Mapping[str, str], *, most: int) -> Iterator[Pair]:
    """Pairs with some evidence, by a separate set of blocks for each kind; a pair may occur more than once."""
    words = {key: name.split() for key, name in folded.items()}
    yield from _alike(folded, words, most=most)
    yield from _shortened(words, most=most)
    yield from _contained(words, most=most)
    yield from _one_letter(folded, most=most)


def _blocks(keyed: Iterable[tuple[object, str]], *, most: int) -> Iterator[Sequence[str]]:
    """The ids of each key, for keys of at least two and at most ``most`` ids."""
    blocks: dict[object, list[str]] = defaultdict(list)
    for key, name in keyed:
        blocks[key].append(name)
    return (members for members in blocks.values() if 1 < len(members) <= most)


def _alike(folded: Mapping[str, str], words: Mapping[str, Sequence[str]], *, most: int) -> Iterator[Pair]:
    """Pairs of names with equal letters, and pairs in which one name consists of the initials of the other."""
    for block in _blocks(((name.replace(" ", ""), key) for key, name in folded.items()), most=most):
        yield from combinations(block, 2)
    initials = [(letters, key) for key, some in words.items() for letters in sorted(_initials(some))]
    short = [(name, key) for key, name in folded.items() if " " not in name]
    known = {key for _, key in short}
    for block in _blocks(sorted(set(initials + short)), most=most):
        yield from ((a, b) for a, b in combinations(block, 2) if (a in known) is not (b in known))


def _shortened(words: Mapping[str, Sequence[str]], *, most: int) -> Iterator[Pair]:
    """Pairs with the same number of words and the same last word, in which one name has an initial."""
    long = {key: some for key, some in words.items() if len(some) > 1}
    has_initial = {key for key, some in long.items() if any(len(word) == 1 for word in some[:-1])}
    for block in _blocks((((some[-1], some[0][0], len(some)), key) for key, some in long.items()), most=most):
        if not has_initial.isdisjoint(block):
            yield from ((a, b) for a, b in combinations(block, 2) if a in has_initial or b in has_initial)


def _contained(words: Mapping[str, Sequence[str]], *, most: int) -> Iterator[Pair]:
    """Pairs in which one name contains all words of the other; the block is its rarest word."""
    sets = {key: frozenset(some) - _SMALL for key, some in words.items()}
    holders: dict[str, list[str]] = defaultdict(list)
    for key, some in sets.items():
        for word in some:
            holders[word].append(key)
    for key, some in sets.items():
        rare = min((holders[word] for word in some), key=len, default=[])
        if len(rare) <= most:
            yield from ((key, other) for other in rare if some < sets[other])


def _one_letter(folded: Mapping[str, str], *, most: int) -> Iterator[Pair]:
    """Pairs that differ in one letter. Such names share the first or the last half of the shorter one's length."""
    long = [(key, name) for key, name in folded.items() if len(name) >= _LEAST]
    for is_end in (False, True):
        keyed = (
            ((size, name[-(size // 2) :] if is_end else name[: size // 2]), key)
            for key, name in long
            for size in (len(name), len(name) - 1)
            if size >= _LEAST
        )
        for block in _blocks(keyed, most=most):
            yield from ((a, b) for a, b in combinations(block, 2) if _differ_in_one(folded[a], folded[b]))


def _initials(words: Sequence[str]) -> set[str]:
    """The initials of two or more words, with and without function words, if they have at least three letters."""
    if len(words) < 2:
        return set()
    ways: Iterable[Sequence[str]] = (words, [word for word in words if word not in _SMALL])
    return {letters for way in ways if len(letters := "".join(word[0] for word in way)) > 2}


def _is_shortened(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two names have the same last word, and some other words of one are initials of the other's, as in ``m quill``."""
    if len(words) != len(others) or len(words) < 2 or words[-1] != others[-1]:
        return False
    pairs = list(zip(words[:-1], others[:-1], strict=True))
    return all(a == b or (1 in (len(a), len(b)) and a[0] == b[0]) for a, b in pairs) and any(a != b for a, b in pairs)


def _differ_in_one(one: str, other: str) -> bool:
    """Whether inserting, removing or replacing one letter turns one name into the other."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest = short[at + 1 :] if len(short) == len(long) else short[at:]
    return rest == long[at + 1 :]


_LEXICAL = 0.5
_PAGE = 1_000  # ids per read of a store
_MOST_SYNONYMS = 100  # SYNONYM edges read per entity


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Thresholds and limits of the search for candidates.

    Attributes
    ----------
    lower : lowest cosine of two names that makes them a pair without other evidence; None (default): 0.8, fitted to the scale of
        the corpus (the store has no lower ones)
    upper : lowest cosine at which a pair of names with the same words is certain, default 0.95 in every corpus, because such
        pairs are merged without review
    lexical : lowest cosine of a pair where one name contains the other or they differ in one letter; None (default): 0.5, fitted
        to the scale of the corpus
    block : largest number of names with a common word, initials or half of their letters that are compared with each
        other, default 50
    most : largest number of pairs, default 1,000; certain pairs come first, then the order is by cosine

    Raises
    ------
    InputError
        A value is out of its bounds.
    """

    lower: float | None = None
    upper: float = 0.95
    lexical: float | None = None
    block: int = 50
    most: int = 1_000

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("lower", "upper", "lexical"):
            if getattr(self, name) is not None:
                check.probability(name, getattr(self, name))
        if self.lower is not None and self.lower > self.upper:
            raise InputError(f"lower is {self.lower} and upper is {self.upper}; lower must be at most upper")
        for name, least in (("block", 2), ("most", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two entities that may be the same.

    Attributes
    ----------
    alias : the entity with the shorter name (by words, then letters, then id)
    canonical : the entity with the longer name
    score : cosine of the names; 0 if one has no vector
    evidence : kinds of lexical evidence, in alphabetical order
    is_certain : the names have the same words and a cosine of at least the upper threshold; merged without a model
    """

    alias: Entity
    canonical: Entity
    score: float
    evidence: tuple[str, ...] = ()
    is_certain: bool = False

    @property
    def pair(self) -> Pair:
        """Both ids, ascending."""
        return min(self.alias.id, self.canonical.id), max(self.alias.id, self.canonical.id)

    @property
    def why(self) -> str:
        """The evidence as a short text."""
        return ", ".join((*self.evidence, f"cosine {self.score:.2f}"))


class Candidates(NamedTuple):
    """The result of :func:`find_candidates`.

    Attributes
    ----------
    found : pairs, the certain ones first, then by cosine, ties by ids
    left_out : number of pairs beyond the limit of the query
    """

    found: tuple[Candidate, ...]
    left_out: int = 0


def find_candidates(
    corpus: str, query: CandidateQuery, *, stores: Stores, decisions: Iterable[Decision] = ()
) -> Candidates:
    """Pairs of entities that may be the same, except pairs that are already decided or merged.

    Reads all entities of the corpus and their SYNONYM edges page by page, and the vectors of lexical pairs. Time and memory
    grow with the number of entities, not with its square.

    Parameters
    ----------
    corpus : the corpus to search
    query : thresholds and limits
    stores : both stores
    decisions : all stored decisions of the corpus

    Returns
    -------
    Candidates
        At most ``query.most`` pairs.
    """
    known = tuple(decisions)
    groups, decided = grouped(known), {decision.pair for decision in known}
    with progress.step("read"):
        entities = by_id(stores.graph.find(Kind.ENTITY, Scope(corpus)), Entity)
    with progress.step("pair"):
        spelled = lexical_pairs(
            {key: normalise_name(entity.name) for key, entity in entities.items()}, block=query.block
        )
    stats = stores.graph.stats(corpus, has_counts=False)
    calibration = stats[0].calibration if stats else None
    lower = least_synonym(calibration) if query.lower is None else query.lower
    lexical = fitted_cosine(_LEXICAL, Kind.ENTITY, calibration=calibration) if query.lexical is None else query.lexical
    if lower < least_synonym(calibration):
        raise InputError(
            f"lower is {lower}; no SYNONYM of less than {least_synonym(calibration)} is stored here, so choose that or more"
        )
    with progress.step("compare", len(entities), unit="entities"):
        cosines = _synonyms(corpus, sorted(entities), least=lower, stores=stores)
    others = [pair for pair in spelled if pair not in cosines]
    with progress.step("compare", len(others), unit="pairs"):
        cosines |= _cosines(corpus, others, stores=stores)
    candidates = []
    for pair in sorted(cosines.keys() | spelled.keys()):
        if not entities.keys() >= set(pair):  # another process added an entity during this read
            continue
        evidence = spelled.get(pair, ())
        score = cosines.get(pair, 0.0)
        is_weak = set(evidence) <= {CONTAINED, ONE_LETTER} and max(score, 0.0) < (lexical if evidence else lower)
        if pair in decided or is_weak or groups.is_one(*pair):
            continue
        is_certain = SAME_WORDS in evidence and score >= query.upper
        alias, canonical = sorted((entities[name] for name in pair), key=_length)
        candidates.append(Candidate(alias, canonical, round(score, 5), evidence, is_certain))
    candidates.sort(key=lambda candidate: (not candidate.is_certain, -candidate.score, candidate.pair))
    return Candidates(tuple(candidates[: query.most]), max(0, len(candidates) - query.most))


def _length(entity: Entity) -> tuple[int, int, str]:
    return len(entity.name.split()), len(entity.name), entity.id


def _synonyms(corpus: str, ids: Sequence[str], *, least: float, stores: Stores) -> dict[Pair, float]:
    """The SYNONYM edges of some entities with a cosine of at least ``least``."""
    cosines: dict[Pair, float] = {}
    most = _PAGE * (_MOST_SYNONYMS + 1)
    shape = PullShape.along(Relationship.SYNONYM, fan_out=_MOST_SYNONYMS, node_cap=most)
    for part in batched(ids, _PAGE):
        graph = stores.graph.pull(part, shape, scope=Scope(corpus))
        edges = graph.edges[Relationship.SYNONYM].tocoo()
        for a, b, cosine in zip(graph.ids[edges.row], graph.ids[edges.col], edges.data.tolist(), strict=True):
            if cosine >= least - 1e-6:
                cosines[min(str(a), str(b)), max(str(a), str(b))] = cosine
        progress.advance("compare", len(part))
    return cosines


def _cosines(corpus: str, pairs: Sequence[Pair], *, stores: Stores) -> dict[Pair, float]:
    """The cosines of the names of these pairs; pairs without both vectors are left out."""
    cosines: dict[Pair, float] = {}
    for part in batched(pairs, _PAGE):
        names = sorted({name for pair in part for name in pair})
        stored, matrix = stores.vectors.vectors(Kind.ENTITY, corpus, ids=names)
        row = dict(zip(stored, matrix, strict=True))
        for a, b in part:
            if a in row and b in row:
                cosines[a, b] = float(np.vecdot(row[a], row[b]))
        progress.advance("compare", len(part))
    return cosines


def statements_of(corpus: str, ids: Sequence[str], *, most: int, stores: Stores) -> Mapping[str, tuple[str, ...]]:
    """The ids of statements that mention each of these entities.

    Parameters
    ----------
    corpus : the corpus of the entities
    ids : ids of entities
    most : largest number of statements per entity; the lowest ids are kept
    stores : both stores

    Returns
    -------
    Mapping
        Ascending ids of statements, by id of the entity.
    """
    statements: dict[str, tuple[str, ...]] = {}
    for part in batched(ids, _PAGE):
        shape = PullShape.along(Relationship.MENTIONS, fan_out=most, node_cap=len(part) * (most + 1))
        graph = stores.graph.pull(part, shape, scope=Scope(corpus))
        edges = graph.edges[Relationship.MENTIONS].tocsc()
        for at in np.flatnonzero(graph.kinds == KINDS.index(Kind.ENTITY)):
            rows = np.sort(edges.indices[edges.indptr[at] : edges.indptr[at + 1]])[:most]
            statements[str(graph.ids[at])] = tuple(graph.ids[rows].tolist())
    return statements
