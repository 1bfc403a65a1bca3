"""The messages of the calls, built from the prompts, and the schemas and the strict parser of the replies.

:func:`parse` reads a reply, :class:`ReplyError` says why it cannot be used, :func:`salvage` reads the usable part of a broken
one, and the ``ask_...`` functions build requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.quarantine import Dropped
from hlgraph.ids import checksum
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.prompts import Prompt, delimited, read_prompt
from hlgraph.models.protocols import Completion
from hlgraph.read.content import clean
from hlgraph.records import Domain

# The parser is strict: a lenient one would let wrong data into the graph. `salvage` reads item by item what it refuses. The
# docstrings of the ``Found`` classes are part of the JSON schemas that providers get, so to change one is to change a prompt. The
# messages of ReplyError are part of repair requests.


_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_MOST_REASONS = 5
_LONGEST_NAME = 500
_LONGEST_KIND = 40


class ReplyError(Exception):
    """A reply cannot be used; a repair request gives the message to the model."""


def _words(text: str) -> str:
    folded = " ".join(clean(text).split())
    if not folded:
        raise ValueError("must not be empty")
    return folded


def _name(text: str) -> str:
    folded = _words(text)
    if len(folded) > _LONGEST_NAME:
        raise ValueError(f"must be a name or a phrase of at most {_LONGEST_NAME} characters")
    return folded


def _kind(text: str) -> str:
    return " ".join(clean(text).split()).lower()[:_LONGEST_KIND]


Words = Annotated[str, AfterValidator(_words)]
"""Clean text on one line, not empty."""

Name = Annotated[str, AfterValidator(_name)]
"""Clean text of at most 500 characters, since a model that repeats itself writes longer ones."""


class ReplyPart(BaseModel):
    """A part of a reply: its fields have their types as they are, and there are no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FoundEntity(ReplyPart):
    """A name and what it is a name of."""

    name: Name
    kind: Annotated[str, AfterValidator(_kind)] = ""


class FoundEntities(ReplyPart):
    """The reply to the first call."""

    entities: list[FoundEntity]


class FoundFact(ReplyPart):
    """Subject, predicate, object."""

    subject: Name
    predicate: Name
    object: Words


class FoundProposition(ReplyPart):
    """One proposition with what hangs on it."""

    text: Words
    topics: list[Name] = []
    entities: list[Name] = []
    facts: list[FoundFact] = []


class FoundPropositions(ReplyPart):
    """The reply to the second call."""

    propositions: list[FoundProposition]


class MendedReply(ReplyPart):
    """Both replies in one, as a person writes them; without ``entities``, those of the model's own reply are used."""

    entities: list[FoundEntity] | None = None
    propositions: list[FoundProposition]


class FoundVerdict(ReplyPart):
    """Whether the statement of this number says what its text says."""

    number: int
    is_accurate: bool
    reason: str = ""


class FoundVerdicts(ReplyPart):
    """The reply about some statements of one text."""

    verdicts: list[FoundVerdict]


Reply = TypeVar("Reply", bound=BaseModel)
Read = TypeVar("Read")


def without_frame(reply: str) -> str:
    """A reply without the model's thoughts; only what is in the first code fence, if there is one."""
    text = _THOUGHTS.sub("", reply)
    fenced = _FENCE.search(text)
    return fenced[1] if fenced else text


def parse(reply: str, form: type[Reply]) -> Reply:
    """The JSON object of a reply, parsed; ignores a code fence around it, thoughts before it and text after it.

    Parameters
    ----------
    reply : the reply
    form : the expected schema

    Returns
    -------
    BaseModel
        The object, an instance of ``form``.

    Raises
    ------
    ReplyError
        There is no JSON object, or it does not match ``form``.
    """
    text = without_frame(reply)
    start = text.find("{")
    if start < 0:
        raise ReplyError("the reply holds no JSON object")
    try:
        tree, _ = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise ReplyError(f"the JSON breaks at character {error.pos - start}: {error.msg}") from error
    except RecursionError as error:
        raise ReplyError("the JSON is nested too deeply") from error
    try:
        return form.model_validate(tree)
    except ValidationError as error:
        raise ReplyError("; ".join(reasons(error))) from error


@cache
def schema(form: type[Reply]) -> dict[str, object]:
    """The JSON schema of a form, with the title and the description that providers require."""
    return {**form.model_json_schema(), "title": form.__name__, "description": form.__doc__ or form.__name__}


def is_readable(reply: str, form: type[Reply]) -> bool:
    """Whether :func:`whole` accepts a reply.

    Parameters
    ----------
    reply : the reply
    form : the expected schema

    Returns
    -------
    bool
        False if it raises ReplyError.
    """
    return accepts(lambda text: whole(text, form), reply)


def accepts(read: Callable[[str], object], reply: str) -> bool:
    """Whether a reply can be read.

    Parameters
    ----------
    read : raises ReplyError if it cannot
    reply : the reply
    """
    try:
        read(reply)
    except ReplyError:
        return False
    return True


def reasons(error: ValidationError) -> list[str]:
    """Descriptions of the first five errors in an object, and the number of others."""
    described = [f"{'.'.join(map(str, detail['loc'])) or 'the object'}: {detail['msg']}" for detail in error.errors()]
    more = len(described) - _MOST_REASONS
    return described[:_MOST_REASONS] + ([f"and {more} more"] if more > 0 else [])


_FOLDER = Path(__file__).parents[1] / "prompts"
_PART_OF = {"entities": "kinds", "propositions": "topics"}
_SHORT = 8
_MOST_CHARACTERS = 4_000
"""Maximum length of a sample, since a document that is one chunk may be of any length."""


class Messages(NamedTuple):
    """The two messages of a call."""

    system: str
    user: str


def prompt(name: str) -> Prompt:
    """The prompt with this name."""
    return read_prompt(_FOLDER / f"{name}.md")


def versions(domain: Domain | None = None) -> str:
    """Versions of all extraction prompts; with a domain, also of the prompts that name it, and a hash of its kinds and topics."""
    parts = [prompt(name).version for name in ("entities", "propositions", "repair")]
    if domain is not None:
        parts += [prompt(part).version for part in _PART_OF.values() if getattr(domain, part)]
        parts.append(checksum(json.dumps([domain.kinds, domain.topics]))[:_SHORT])
    return "+".join(parts)


def version(name: str, domain: Domain | None = None) -> str:
    """Version of the prompt of a call, such as ``entities/1``, or ``entities/1+kinds/1`` with a domain.

    Parameters
    ----------
    name : name of the prompt
    domain : domain of the corpus; default None

    Returns
    -------
    str
        The version.
    """
    own = prompt(name).version
    return f"{own}+{prompt(_PART_OF[name]).version}" if _named(name, domain) else own


def _named(name: str, domain: Domain | None) -> tuple[str, ...]:
    """The kinds or topics of the domain that the prompt of a call names."""
    part = _PART_OF.get(name)
    return () if domain is None or part is None else getattr(domain, part)


def _in_domain(messages: Messages, name: str, *, domain: Domain | None) -> Messages:
    """The messages with the kinds or topics of the domain added; unchanged without a domain."""
    names = _named(name, domain)
    if not names:
        return messages
    part = _PART_OF[name]
    more = prompt(part)
    listed = delimited(part, json.dumps(list(names), ensure_ascii=False))
    return Messages(f"{messages.system}\n\n{more.system}", f"{more.filled({part: listed})}\n\n{messages.user}")


def ask_domain(samples: Sequence[ChunkInput]) -> Messages:
    """The messages that request the domain of a corpus, from sample chunks."""
    chosen = prompt("domain")
    shown = (
        f"[{number}]\n{context(sample)}\n{delimited('text', sample.text[:_MOST_CHARACTERS])}"
        for number, sample in enumerate(samples, 1)
    )
    return Messages(chosen.system, chosen.filled({"samples": "\n\n".join(shown)}))


def ask_entities(chunk: ChunkInput, domain: Domain | None = None) -> Messages:
    """The messages of the first call, for entities.

    Parameters
    ----------
    chunk : the chunk
    domain : domain of the corpus; default None

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("entities")
    user = chosen.filled({"context": context(chunk), "text": delimited("text", chunk.text)})
    return _in_domain(Messages(chosen.system, user), "entities", domain=domain)


def ask_propositions(chunk: ChunkInput, entities: Sequence[FoundEntity], *, domain: Domain | None = None) -> Messages:
    """The messages of the second call, for propositions about the entities of the first.

    Parameters
    ----------
    chunk : the chunk
    entities : the entities in the first reply
    domain : domain of the corpus; default None

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("propositions")
    names = json.dumps([entity.name for entity in entities], ensure_ascii=False)
    values = {
        "context": context(chunk),
        "entities": delimited("entities", names),
        "text": delimited("text", chunk.text),
    }
    return _in_domain(Messages(chosen.system, chosen.filled(values)), "propositions", domain=domain)


def ask_again(asked: Messages, reply: str, *, reason: str) -> Messages:
    """The messages of the repair call, which requests a reply in the right form.

    Parameters
    ----------
    asked : messages of the first call
    reply : its reply
    reason : why the reply cannot be used

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("repair")
    values = {"request": asked.user, "reply": delimited("reply", reply), "reason": reason}
    return Messages(f"{asked.system}\n\n{chosen.system}", chosen.filled(values))


def context(chunk: ChunkInput) -> str:
    """Title and headings of a chunk and the lines that it begins below, as delimited text for a prompt."""
    lines = [f"Title: {chunk.title}"] if chunk.title else []
    lines.extend(f"Heading: {heading}" for heading in chunk.headings)
    lines.extend(f"Above: {line.strip()}" for line in chunk.above.splitlines() if line.strip())
    return delimited("context", "\n".join(lines) or "No title.")


def ask_and_repair(
    about: Callable[[str], Asking],
    messages: Messages,
    *,
    version: str,
    max_tokens: int,
    read: Callable[[Completion], Read],
    on_reply: Callable[[Completion], None] = lambda _: None,
) -> Read:
    """The result of ``read`` on the reply to a request, or on the reply to a repair request if it cannot be read.

    A repaired reply is stored as the reply to the first request, so that a repetition pays for neither of the two calls.

    Parameters
    ----------
    about : maps the version of a prompt to the chat model to call
    messages : the request
    version : version of its prompt
    max_tokens : maximum length of a reply, in tokens
    read : converts a reply; raises ReplyError if it cannot be used
    on_reply : called with each reply before it is read; its errors are raised at once; default: no call

    Returns
    -------
    object
        The result of ``read``.

    Raises
    ------
    ReplyError
        The second reply cannot be used either.
    """
    first = about(version).complete(*messages, max_tokens=max_tokens)
    on_reply(first)
    try:
        return read(first)
    except ReplyError as error:
        again = ask_again(messages, first.text, reason=str(error))
    second = about(prompt("repair").version).complete(*again, max_tokens=max_tokens)
    on_reply(second)
    result = read(second)
    about(version).settle(*messages, max_tokens=max_tokens, completion=second)
    return result


MAX_TOKENS = 2_048
"""Default limit of a reply, with room for models that reason before they answer."""


def ask_twice(
    executor: Executor,
    messages: Messages,
    *,
    form: type[Reply],
    purpose: Purpose,
    max_tokens: int = MAX_TOKENS,
    check: Callable[[Reply], None] = lambda _: None,
) -> Reply:
    """The parsed reply, or the parsed reply to a repair request; see :func:`ask_and_repair`.

    Parameters
    ----------
    executor : of the chat model, with its ledger, stored replies and budget
    messages : the request
    form : schema of the reply
    purpose : stage, strategy and version of the prompt
    max_tokens : maximum length of a reply, in tokens
    check : raises ReplyError for a reply of the right form that cannot be used; default: every one can

    Raises
    ------
    ReplyError
        The second reply cannot be read either.
    ModelError
        The model cannot be called, or refuses.
    """

    def read(text: str) -> Reply:
        reply = parse(text, form)
        check(reply)
        return reply

    def about(version: str) -> Asking:
        asked = replace(purpose, prompt=version)
        return executor.about(asked, accept=lambda text: accepts(read, text), form=schema(form))

    return ask_and_repair(
        about, messages, version=purpose.prompt, max_tokens=max_tokens, read=lambda completion: read(completion.text)
    )


# What is salvaged of a broken reply.

# Strings, which stay, and what JSON does not allow outside of them.
_LOOSE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|,(?=\s*[}\]])|\b(?:None|True|False)\b', re.DOTALL)
_STRICT = {",": "", "None": "null", "True": "true", "False": "false"}
_MOST_BROKEN = 200  # items of one reply; what follows more broken ones is not read
_LONGEST = 2_000  # characters of a dropped item that are kept
_Model = TypeVar("_Model", bound=BaseModel)


class _Digits(str):
    """A number of the JSON, as it is written."""

    __slots__ = ()


class Salvaged(NamedTuple, Generic[Reply]):
    """A reply with what could not be read of it.

    Attributes
    ----------
    reply : the items that could be read
    dropped : the items, and parts of items, that could not
    size : number of items that could be read
    """

    reply: Reply
    dropped: tuple[Dropped, ...] = ()
    size: int = 0


def salvage(reply: str, form: type[Reply], *, cut: str = "") -> Salvaged[Reply]:
    """The items of a reply that can be read; equal to :func:`hlgraph.extract.chat.messages.parse` if that reads the reply.

    Takes time linear in the length of the reply.

    Parameters
    ----------
    reply : the reply
    form : the expected schema; one without a list of entities or propositions is parsed strictly
    cut : why the reply ends early, so that its last item is incomplete; empty: it is complete

    Returns
    -------
    Salvaged
        The items, and what was dropped.

    Raises
    ------
    ReplyError
        Nothing in the reply can be read.
    """
    dropped: list[Dropped] = []
    shape = _SHAPES.get(form)
    try:
        parsed = parse(reply, form)
        size = len(getattr(parsed, shape.field)) if shape else 0
    except ReplyError:
        trees = _trees(reply, shape, dropped, cut=cut) if shape else None
        if shape is None or trees is None:
            raise
        parts = _Parts(dropped)
        items = [item for tree in trees if tree is not None and (item := shape.read(parts, tree)) is not None]
        if not items and (dropped or cut):
            raise
        parsed, size = form.model_validate({shape.field: items}), len(items)
    if cut and all(item.reason != cut for item in dropped):
        dropped.append(Dropped("", cut))
    return Salvaged(parsed, tuple(dropped), size)


def whole(reply: str, form: type[Reply]) -> Reply:
    """The parsed reply, if nothing has to be dropped from it.

    Parameters
    ----------
    reply : the reply
    form : the expected schema

    Returns
    -------
    BaseModel
        An instance of ``form``.

    Raises
    ------
    ReplyError
        The reply, or an item of it, cannot be read.
    """
    salvaged = salvage(reply, form)
    if salvaged.dropped:
        raise ReplyError("; ".join(dropped.reason for dropped in salvaged.dropped[:5]))
    return salvaged.reply


@dataclass(frozen=True, slots=True)
class _Shape:
    """The list in a form.

    Attributes
    ----------
    field : its name
    key : the key that every item has
    keys : all keys of an item, one of which is its first
    read : converts the JSON of an item
    """

    field: str
    key: str
    keys: str
    read: Callable[[_Parts, object], BaseModel | None]


@dataclass(slots=True)
class _Parts:
    """Converts parts of a reply, and notes those that cannot be read."""

    dropped: list[Dropped] = field(default_factory=list)

    def _validated(self, form: type[_Model], values: dict[str, object], raw: object) -> _Model | None:
        """The part; None if it cannot be read."""
        try:
            return form.model_validate(values)
        except ValidationError as error:
            self.dropped.append(
                _drop(raw, f"{form.__name__.removeprefix('Found').lower()}: {'; '.join(reasons(error))}")
            )
            return None

    def entity(self, tree: object) -> FoundEntity | None:
        """An entity: an object, or its name alone."""
        values = tree if isinstance(tree, dict) else {"name": tree}
        return self._validated(
            FoundEntity, {"name": _text(values.get("name")), "kind": _text(values.get("kind")) or ""}, tree
        )

    def fact(self, tree: object) -> FoundFact | None:
        """A fact: an object, or a list of three."""
        names = ("subject", "predicate", "object")
        values = dict(zip(names, tree, strict=True)) if isinstance(tree, list) and len(tree) == len(names) else tree
        values = values if isinstance(values, dict) else {}
        return self._validated(FoundFact, {name: _text(values.get(name)) for name in names}, tree)

    def name(self, tree: object) -> str | None:
        """A name or a topic: a text, or an object with a name."""
        entity = self.entity(tree)
        return None if entity is None else entity.name

    def proposition(self, tree: object) -> FoundProposition | None:
        """A proposition: an object, or its text alone."""
        values = tree if isinstance(tree, dict) else {"text": tree}
        text = values.get("text")
        known: dict[str, object] = {"text": None if isinstance(text, _Digits) else text}
        proposition = self._validated(FoundProposition, known, tree)
        if proposition is None:
            return None
        lists: dict[str, object] = {
            name: [part for each in _list(values.get(name)) if (part := read(each)) is not None]
            for name, read in (("topics", self.name), ("entities", self.name), ("facts", self.fact))
        }
        return FoundProposition.model_validate({**known, **lists})


_SHAPES: dict[type[BaseModel], _Shape] = {
    FoundEntities: _Shape("entities", "name", "name|kind", _Parts.entity),
    FoundPropositions: _Shape("propositions", "text", "text|topics|entities|facts", _Parts.proposition),
}


def _text(value: object) -> object:
    """The text that a value plainly means; other values are left for the schema to refuse."""
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, _Digits) else value


def _list(value: object) -> list[object]:
    """A list; null is an empty one, and a single value a list of one. Null items are left out."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if each is not None]


def _drop(raw: object, reason: str) -> Dropped:
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return Dropped(text[:_LONGEST], reason)


# The JSON of the items


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(strict=False, parse_int=_Digits, parse_float=_Digits, parse_constant=_Digits)


def _trees(reply: str, shape: _Shape, dropped: list[Dropped], *, cut: str) -> list[object] | None:
    """The JSON of all items of a reply, whatever is around them; None if there is no list of items."""
    text = _LOOSE.sub(lambda match: _STRICT.get(match[0], match[0]), without_frame(reply))
    outer = re.search(rf'\{{\s*"{shape.field}"\s*:', text)
    places = (outer.start() if outer else -1, text.find("["), text.find("{"))
    for place in sorted({place for place in places if place >= 0}, key=places.index):
        try:
            tree, _ = _decoder().raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            continue
        items = _items(tree, shape)
        if items is not None:
            return items
    return _scanned(text, shape, dropped, cut=cut) or None


def _items(tree: Any, shape: _Shape) -> list[object] | None:
    """The items in a JSON value: the list of its field, a list at the top, or the field of a single object inside it."""
    if isinstance(tree, list):
        items: list[Any] = [item for item in tree if item is not None]
        if len(items) == 1 and isinstance(items[0], dict) and shape.field in items[0]:
            return _items(items[0], shape)
        return items if any(isinstance(item, dict) and shape.key in item for item in items) else None
    if not isinstance(tree, dict):
        return None
    own: Any = tree.get(shape.field)
    if isinstance(own, dict) and shape.key in own:
        return [own]
    if shape.field in tree:
        return own if isinstance(own, list) else None
    inner = [value[shape.field] for value in tree.values() if isinstance(value, dict) and shape.field in value]
    return inner[0] if len(inner) == 1 and isinstance(inner[0], list) else None


def _scanned(text: str, shape: _Shape, dropped: list[Dropped], *, cut: str) -> list[object]:
    """The items of JSON that breaks, each decoded by itself. What lies between two that can be read is dropped."""
    starts = [match.start() for match in re.finditer(rf'\{{\s*"(?:{shape.keys})"\s*:', text)]
    items: list[object] = []
    end = 0
    for place, until in pairwise([*starts, len(text)]):
        if place < end:
            continue
        try:
            tree, end = _decoder().raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            broken = f"the JSON breaks: {error.msg if isinstance(error, json.JSONDecodeError) else 'nested too deeply'}"
            reason = cut if cut and until == len(text) else broken
            dropped.append(_drop(text[place:until].strip(), reason))
            if len(dropped) >= _MOST_BROKEN:
                break
            continue
        items.append(tree)
    return items
