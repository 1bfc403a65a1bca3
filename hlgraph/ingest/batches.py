"""Extraction by batch files of a provider at half the price: export the calls, run them elsewhere, import the results.

A chunk needs two calls, and the second depends on the reply to the first. So export a file, import its results, export the
file of the second calls, and import its results. The next ingest then has every reply.

:class:`BatchFiles` exports and imports. The format depends on the provider of the model, see ``FORMATS``: OpenAI's, which
other providers and local servers also read, or Amazon Bedrock's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from hlgraph.errors import InputError
from hlgraph.extract.chat import next_call
from hlgraph.ids import checksum
from hlgraph.ingest import pipeline
from hlgraph.ingest.plan import looking, stored_replies
from hlgraph.ingest.report import Failure, Report
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Executor, Request
from hlgraph.models.prompts import salted
from hlgraph.models.protocols import Completion

if TYPE_CHECKING:
    from hlgraph.chunk import Chunker
    from hlgraph.extract import Quarantine
    from hlgraph.read import ReadFailure
    from hlgraph.records import Document, Domain
    from hlgraph.stores.protocols import Stores


# The formats of batch files, one per provider: the line of a request, and the reply in a result line.


_URL = "/v1/chat/completions"
Tree = Mapping[str, object]


class BatchFormat(NamedTuple):
    """The batch format of a provider.

    Attributes
    ----------
    line : builds the line of a request from the name of the model, the key of the request and the request
    result : reads the key and the reply from a result line. The reply is None if the provider returned an error or its
        content filter stopped the reply. Raises KeyError, TypeError, IndexError, AttributeError or ValueError for a line
        that is not a result
    """

    line: Callable[[str, str, Request], dict[str, object]]
    result: Callable[[Tree], tuple[str, Completion | None]]


def _openai_line(model: str, key: str, request: Request) -> dict[str, object]:
    system, user = salted(request.system, request.user)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = {"model": model, "messages": messages, "max_completion_tokens": request.max_tokens}
    return {"custom_id": key, "method": "POST", "url": _URL, "body": body}


def _openai_result(tree: Tree) -> tuple[str, Completion | None]:
    key, response = str(tree["custom_id"]), tree["response"]
    if tree.get("error") or not isinstance(response, dict) or response.get("status_code") != 200:
        return key, None
    body = response["body"]
    choice, usage = body["choices"][0], body.get("usage") or {}
    if choice.get("finish_reason") == "content_filter":
        return key, None
    return key, Completion(
        text=str(choice["message"].get("content") or ""),
        input_tokens=int(usage.get("prompt_tokens", 0)),
        output_tokens=int(usage.get("completion_tokens", 0)),
        is_cut=choice.get("finish_reason") == "length",
    )


def _converse_line(model: str, key: str, request: Request) -> dict[str, object]:  # noqa: ARG001 - the job has the model
    system, user = salted(request.system, request.user)
    body = {
        "system": [{"text": system}],
        "messages": [{"role": "user", "content": [{"text": user}]}],
        "inferenceConfig": {"maxTokens": request.max_tokens},
    }
    return {"recordId": key, "modelInput": body}


def _converse_result(tree: Tree) -> tuple[str, Completion | None]:
    key = str(tree["recordId"])
    if tree.get("error"):
        return key, None
    output = tree["modelOutput"]
    if not isinstance(output, dict) or output.get("stopReason") in ("content_filtered", "guardrail_intervened"):
        return key, None
    usage = output.get("usage") or {}
    # The reply of a reasoning model has parts without text.
    parts = [str(part["text"]) for part in output["output"]["message"]["content"] if "text" in part]
    return key, Completion(
        text="".join(parts),
        input_tokens=int(usage.get("inputTokens", 0)),
        output_tokens=int(usage.get("outputTokens", 0)),
        is_cut=output.get("stopReason") == "max_tokens",
    )


FORMATS: Mapping[str, BatchFormat] = {
    "openai": BatchFormat(_openai_line, _openai_result),
    "bedrock": BatchFormat(_converse_line, _converse_result),
}
"""Formats by provider: OpenAI's batches, and Amazon Bedrock's of type ``Converse`` for any model."""


SHARE = 0.5
"""Share of the usual price that a provider charges for a batch."""


@dataclass(slots=True)
class BatchReport:
    """The result of an export or import of batch files.

    Attributes
    ----------
    sources, chunks : numbers of sources and chunks to extract
    given_up : chunks that failed too often and are not sent; see ``hlgraph failures``
    calls : calls written to the file (export) or stored from the results (import)
    waiting : calls without a result yet (import)
    known : results that were imported before (import)
    refused : unusable results: an error, or a reply that is cut off or malformed; these calls are exported again
    unknown : results of requests that these sources do not need
    failed : sources that cannot be read
    """

    sources: int = 0
    chunks: int = 0
    given_up: int = 0
    calls: int = 0
    waiting: int = 0
    known: int = 0
    refused: int = 0
    unknown: int = 0
    failed: list[Failure] = field(default_factory=list)


class BatchFiles:
    """Exports the next calls of an extraction as batch files, and imports their results.

    Parameters
    ----------
    executor : executor of the chat model, with stored replies and a ledger
    max_tokens : limit of one reply
    domain : domain of the corpus, which the prompts name; default None
    quarantine : quarantine of the corpus; chunks that failed too often are not sent. None for no failures

    Raises
    ------
    InputError : the provider of the model has no batch format here, or replies are not stored
    """

    def __init__(
        self,
        executor: Executor,
        *,
        max_tokens: int,
        domain: Domain | None = None,
        quarantine: Quarantine | None = None,
    ) -> None:
        provider, _, self._model = executor.fingerprint.partition(":")
        if provider not in FORMATS or not self._model:
            names = " or ".join(f"{name}:MODEL" for name in FORMATS)
            raise InputError(
                f"{executor.fingerprint}: there are batch files for some providers only; name a model as {names}"
            )
        if executor.accounts.replies is None:
            raise InputError("batches need replies that are kept; set models.keep_replies to true")
        self._replies = executor.accounts.replies
        self._executor = executor
        self._format = FORMATS[provider]
        self._max_tokens = max_tokens
        self._domain = domain
        self._extractor = looking(executor, domain=domain, quarantine=quarantine)

    def export(
        self, items: Iterable[Document | ReadFailure], out: TextIO, *, stores: Stores, chunker: Chunker
    ) -> BatchReport:
        """Write one line for every call that can be made now. Reads the store and calls no model.

        Two chunks that would send the same request share a line.

        Parameters
        ----------
        items : documents and read failures
        out : receives the lines
        stores : the open stores
        chunker : chunks the documents

        Returns
        -------
        BatchReport
        """
        report, written = BatchReport(), set[str]()
        for request in self._requests(items, report, stores=stores, chunker=chunker):
            key = request.key(self._executor.fingerprint)
            if key not in written:
                written.add(key)
                out.write(f"{json.dumps(self._format.line(self._model, key, request), ensure_ascii=False)}\n")
        report.calls = len(written)
        return report

    def take(
        self,
        items: Iterable[Document | ReadFailure],
        results: Iterable[Path],
        *,
        stores: Stores,
        chunker: Chunker,
    ) -> BatchReport:
        """Store the replies of result files for the calls that these sources need, and enter them in the ledger at half price.

        A call is entered only once, even if its result is imported again.

        Parameters
        ----------
        items : documents and read failures
        results : files that the provider wrote
        stores : the open stores
        chunker : chunks the documents

        Returns
        -------
        BatchReport

        Raises
        ------
        InputError : a file cannot be read, or a line is not a result
        """
        report = BatchReport()
        by_key = dict(self._results(results))
        wanted: set[str] = set()
        for request in self._requests(items, report, stores=stores, chunker=chunker):
            key = request.key(self._executor.fingerprint)
            if key in wanted:
                continue
            wanted.add(key)
            completion = by_key.get(key)
            if completion is None:
                report.refused += key in by_key
                report.waiting += key not in by_key
            elif self._executor.enter(request, completion, share=SHARE):
                report.calls += 1
            else:
                report.refused += 1
        rest = by_key.keys() - wanted
        report.known = sum(self._replies.find(name) is not None for name in rest)
        report.unknown = len(rest) - report.known
        return report

    def _requests(
        self, items: Iterable[Document | ReadFailure], report: BatchReport, *, stores: Stores, chunker: Chunker
    ) -> Iterator[Request]:
        """The next call of every chunk to extract."""
        seen = Report()
        stored_reply = stored_replies(self._executor, max_tokens=self._max_tokens)
        corpus, steps = self._executor.accounts.corpus, pipeline.LookSteps(chunker, self._extractor)
        for source in pipeline.look(items, corpus, report=seen, stores=stores, steps=steps):
            report.sources += 1
            for _, chunk in source.plan.to_extract:
                if self._extractor.gives_up(chunk):
                    report.given_up += 1
                    continue
                report.chunks += 1
                call = next_call(chunk, kept=stored_reply, domain=self._domain)
                if call is not None:
                    part = checksum(chunk.text)
                    purpose = Purpose(stage="extract", source=chunk.source, part=part, prompt=call.prompt)
                    yield Request(*call.messages, self._max_tokens, purpose, call.is_readable)
        report.failed = seen.failed

    def _results(self, paths: Iterable[Path]) -> Iterator[tuple[str, Completion | None]]:
        """Key of the request and reply of each line; the reply is None if the provider returned an error."""
        for path in paths:
            try:
                lines = path.read_text(encoding="utf-8").split("\n")  # replies may contain other line separators
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(
                    f"{path}: the results cannot be read ({error}); name a file of batch results"
                ) from error
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    tree = json.loads(line)
                    yield self._format.result(tree)
                except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                    raise InputError(
                        f"{path}:{number}: this line is no result of a batch ({type(error).__name__}: {error}); "
                        "name the file that the provider wrote, not the one that was sent"
                    ) from error
