"""The domain of a corpus: the entity kinds and topics that the prompts of a chat model name.

It is inferred once, by one call about five chunks (``ingest`` with ``adapt``, or :meth:`CorpusDomain.infer`), or written by a
person, and is stored with the graph. From then on every prompt of an extraction by a chat model names it, in every process. A
changed domain causes a new extraction, as a changed prompt does. A corpus without a domain is extracted with the plain prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.extract.extractor import ChunkInput, Sampler
from hlgraph.ingest.options import NO_CHAT, IngestOptions, chunker_of
from hlgraph.ingest.run import samples_of, split_sources
from hlgraph.models.accounts.budget import Budget, Usage
from hlgraph.models.executor import Executor
from hlgraph.records import Chunk, Document, Domain, Source
from hlgraph.sdk.arguments import checked
from hlgraph.settings import Settings
from hlgraph.stores.protocols import Scope, Stores, domain_of, domain_store, find_records, read_records


@dataclass(frozen=True, slots=True)
class InferredDomain:
    """A domain that a chat model inferred.

    Attributes
    ----------
    domain : the domain that the corpus has now
    samples : uri and position of the chunks that it was inferred from
    is_changed : whether the corpus had another domain before, or none
    usage : calls and tokens
    """

    domain: Domain
    samples: tuple[tuple[str, int], ...]
    is_changed: bool
    usage: Usage = field(compare=False)


@checked
@dataclass(frozen=True, slots=True)
class CorpusDomain:
    """The domain of one corpus.

    Parameters
    ----------
    settings, stores : settings that name the corpus, and the open stores
    chat : makes the executor of the chat model for one command, within a budget; None without a chat model

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph", chat="openai:gpt-4o-mini") as graph:
            print(graph.domain.infer(["docs/"]).domain.kinds)
            graph.domain.set(hlgraph.Domain(kinds=("bridge", "engineer"), topics=("repairs",)))
            graph.ingest(["docs/"], extract="chat")
    """

    settings: Settings
    stores: Stores
    chat: Callable[[Budget | None], Executor | None]

    def find(self) -> Domain | None:
        """The domain of the corpus; None if it has none."""
        return domain_of(self.stores, self.settings.corpus)

    def infer(
        self,
        sources: str | Path | Document | Iterable[str | Path | Document] = (),
        *,
        options: IngestOptions | None = None,
        budget: Budget | None = None,
    ) -> InferredDomain:
        """Infer the domain of the corpus with the chat model, and replace the stored domain.

        The model reads the five chunks of the sources (without sources: of the stored corpus) whose texts have the smallest
        hashes: the same texts give the same five. If a reply cannot be read, the model is asked once more.

        Parameters
        ----------
        sources : read and chunked as by an ingest with these ``options``; nothing of them is stored
        options : see :class:`hlgraph.IngestOptions`
        budget : of the calls

        Returns
        -------
        InferredDomain

        Raises
        ------
        InputError : there is no chat model or no text, or standard input is among the sources
        UnknownNameError : no sources are given, and there is no such corpus
        ModelAnswerError : neither reply can be used; the domain stays as it was
        ModelError, BudgetError : the model answers no more calls; the domain stays as it was
        StoreLockedError : another process is writing
        """
        from hlgraph.extract.chat import infer_domain

        calls = self.chat(budget)
        if calls is None:
            raise InputError(NO_CHAT)
        paths, documents = split_sources(sources)
        if paths or documents:
            ingest_options = options or IngestOptions()
            chunker = chunker_of(ingest_options, self.settings)
            samples = samples_of(paths, documents, options=ingest_options, chunker=chunker, corpus=self.settings.corpus)
        else:
            samples = self._stored()
        if not samples:
            raise InputError("there is no text to infer a domain from; name sources that contain text")
        usage = Usage()
        domain = infer_domain(calls, samples, max_tokens=self.settings.models.max_tokens, usage=usage)
        is_changed = self._put(domain)
        return InferredDomain(domain, tuple((sample.uri, sample.position) for sample in samples), is_changed, usage)

    def set(self, domain: Domain) -> Domain:
        """Replace the stored domain with one that a person wrote. Calls no model.

        Raises InputError for too many or too long kinds or topics, or none of both; MissingExtraError without pydantic;
        StoreLockedError while another process writes.
        """
        from hlgraph.extract.chat import given_domain

        checked_domain = given_domain({"kinds": list(domain.kinds), "topics": list(domain.topics)})
        self._put(checked_domain)
        return checked_domain

    def clear(self) -> Domain | None:
        """Remove the domain and return it; None if there was none."""
        domain = self.find()
        if domain is not None:
            with self.stores.graph.lock(self.settings.corpus):
                domain_store(self.stores).drop(self.settings.corpus)
        return domain

    def _put(self, domain: Domain) -> bool:
        with self.stores.graph.lock(self.settings.corpus):
            before = self.find()
            domain_store(self.stores).write(self.settings.corpus, domain)
        return before is None or (before.kinds, before.topics) != (domain.kinds, domain.topics)

    def _stored(self) -> list[ChunkInput]:
        """The sample of the stored chunks."""
        graph = self.stores.graph
        if not graph.stats(self.settings.corpus, has_counts=False):
            raise UnknownNameError(
                f"there is no corpus {self.settings.corpus!r}; name sources to infer its domain from, or ingest something first"
            )
        sampler = Sampler[tuple[str, ChunkInput]]()
        for chunk in find_records(graph, Chunk, scope=Scope(self.settings.corpus)):
            shown = ChunkInput(chunk.text, headings=chunk.headings, position=chunk.position)
            sampler.add(chunk.text, (chunk.source_id, chunk.position), item=(chunk.source_id, shown))
        chosen = sampler.chosen()
        owners = sorted({name for name, _ in chosen})
        sources = read_records(graph, Source, ids=owners, scope=Scope(self.settings.corpus))
        return [replace(item, title=sources[name].title, uri=sources[name].uri) for name, item in chosen]


def parsed(text: str, name: str) -> Domain:
    """The domain that a YAML or JSON text describes.

    Parameters
    ----------
    text : with ``kinds`` and ``topics``
    name : of its file, for the message of the error

    Returns
    -------
    Domain

    Raises
    ------
    InputError : the text has another form
    MissingExtraError : pydantic is missing
    """
    import yaml

    from hlgraph.extract.chat import given_domain

    try:
        tree = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{name}: not valid YAML or JSON ({error}); compare it with: hlgraph domain show") from error
    try:
        return given_domain(tree)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
