"""Prompts: read them from files, replace them, mark untrusted text in them, and estimate their tokens.

A file has a version line, then the system message and the user message.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from string import Template
from types import MappingProxyType

from hlgraph.errors import ModelError, SettingsError
from hlgraph.ids import checksum
from hlgraph.telemetry import within

_PARTS = re.compile(
    r"version: (?P<version>[\w./-]+)\n=== system ===\n(?P<system>.*?)\n=== user ===\n(?P<user>.*)", re.DOTALL
)
_PACKAGE = Path(__file__).parents[1]
_REPLACED: ContextVar[Mapping[str, Prompt]] = ContextVar("hlgraph_prompts", default=MappingProxyType({}))
_MARK = 8
_SALT_BYTES = 8
SALT = "\ufdd0"
"""The place of the salt in a marker: a code point that is never a character, and is taken out of every text between markers."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    Attributes
    ----------
    version : changes with every change of the wording
    system : the system message
    user : the user message; ``$name`` is a placeholder
    """

    version: str
    system: str
    user: str

    def filled(self, values: Mapping[str, str]) -> str:
        """The user message with its placeholders replaced; placeholders inside the values are not replaced.

        Raises ModelError if the names of the values and of the placeholders differ.

        Examples
        --------
        >>> Prompt("greeting/1", "Be short.", "Greet $name.").filled({"name": "$you"})
        'Greet $you.'
        """
        template = Template(self.user)
        wanted = set(template.get_identifiers())
        if wanted != set(values):
            raise ModelError(
                f"prompt {self.version} needs the values {sorted(wanted)} but got {sorted(values)}; correct the call"
            )
        return template.substitute(values)


def read_prompt(path: Path) -> Prompt:
    """The prompt in a file, or the one that replaces it (:func:`prompts_of`).

    Raises ModelError if the file is missing or lacks one of the three parts.
    """
    prompt = _read(path)
    return _REPLACED.get().get(_name_of(prompt), prompt)


@cache
def _read(path: Path) -> Prompt:
    try:
        return _parsed(path, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: the prompt cannot be read ({error}); reinstall hlgraph") from error


def _parsed(path: Path, text: str) -> Prompt:
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ModelError(f"{path}: not a prompt; write a version line, then === system ===, then === user ===")
    return Prompt(parts["version"], parts["system"].strip(), parts["user"].strip())


def _name_of(prompt: Prompt) -> str:
    return prompt.version.partition("/")[0]


@cache
def shipped() -> Mapping[str, Path]:
    """The files of the prompts that come with hlgraph, by name."""
    return {_name_of(_read(path)): path for path in sorted(_PACKAGE.glob("**/prompts/*.md"))}


@contextmanager
def prompts_of(folder: str | Path | None) -> Iterator[None]:
    """Within the block, the prompts of a folder replace those of the same name; the version of each names it in fingerprints.

    Parameters
    ----------
    folder : has files such as ``select.md``, each with a version such as ``select/mine``; hidden files are ignored; None: no
        prompt is replaced

    Raises
    ------
    SettingsError : there is no such folder; a file is not a prompt, names none, has the version of the shipped prompt, or has
        other placeholders
    """
    with within(_REPLACED, _replacements(Path(folder))) if folder else nullcontext():
        yield


def _replacements(folder: Path) -> Mapping[str, Prompt]:
    texts = {}
    path = folder
    try:
        for path in sorted(folder.iterdir()):
            if not path.name.startswith("."):  # such as .git
                texts[path] = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"models.prompts: {path} cannot be read ({error}); name a folder of prompts in UTF-8, or leave it out"
        ) from error
    if not texts:
        raise SettingsError(
            f"models.prompts: {folder} is empty; put prompts such as select.md into it, or leave it out"
        )
    return _checked(tuple(texts.items()))


@lru_cache(maxsize=4)
def _checked(texts: tuple[tuple[Path, str], ...]) -> Mapping[str, Prompt]:
    """The prompts of the files with these texts."""
    prompts: dict[str, Prompt] = {}
    for path, text in texts:
        own = shipped().get(path.stem) if path.suffix == ".md" else None
        if own is None:
            hint = "".join(f"did you mean {near}.md? " for near in get_close_matches(path.stem, shipped(), n=1))
            raise SettingsError(f"{path}: no prompt has this name; {hint}name the file {'.md, '.join(shipped())}.md")
        try:
            prompt, replaced = _parsed(path, text), _read(own)
        except ModelError as error:
            raise SettingsError(f"{error}; the prompt that comes with hlgraph is {own}") from error
        if _name_of(prompt) != path.stem or prompt.version == replaced.version:
            raise SettingsError(
                f"{path}: its version is {prompt.version}; write {path.stem}/ and a name of your own, other than "
                f"{replaced.version}, so that stored replies and fingerprints are told apart"
            )
        if not Template(prompt.user).is_valid():
            raise SettingsError(f"{path}: a $ of the user message begins no placeholder; write $$ for the sign itself")
        wanted, there = (set(Template(each.user).get_identifiers()) for each in (replaced, prompt))
        if unfilled := sorted(wanted & set(Template(prompt.system).get_identifiers())):
            raise SettingsError(f"{path}: ${unfilled[0]} stands in the system message, where nothing fills it; move it")
        if wanted != there:
            lacks = "".join(f"; it lacks ${name}, add it" for name in sorted(wanted - there))
            foreign = "".join(f"; nothing fills ${name}, take it out" for name in sorted(there - wanted))
            raise SettingsError(f"{path}: its placeholders are not those of {own}{lacks}{foreign}")
        prompts[path.stem] = prompt
    return prompts


def delimited(name: str, text: str) -> str:
    """Untrusted text between markers that it cannot forge.

    A marker is the name, a hash of the text, and a place for a salt: 16 random digits that :func:`salted` inserts when the
    message is sent. An attacker could search for a text that contains its own hash, but does not know the salt. Stored replies
    are looked up by the message with the empty place (:func:`unsalted`), so the salt does not invalidate them.

    Parameters
    ----------
    name : name of the markers
    text : the text

    Returns
    -------
    str
        The text with a marker before and after it.

    Examples
    --------
    >>> print(unsalted(delimited("text", "A bridge.")))
    <text 22f9d6f2>
    A bridge.
    </text 22f9d6f2>
    """
    mark = f"{name} {checksum(name, text)[:_MARK]}{SALT}"
    return f"<{mark}>\n{text.replace(SALT, ' ')}\n</{mark}>"


def salted(*messages: str) -> tuple[str, ...]:
    """The messages of one call, with the same new random salt in all their markers.

    Examples
    --------
    >>> one, other = salted(delimited("text", "A bridge.")), salted(delimited("text", "A bridge."))
    >>> one == other, unsalted(one[0]) == one[0]
    (False, True)
    """
    salt = secrets.token_hex(_SALT_BYTES)
    return tuple(each.replace(SALT, salt) for each in messages)


def unsalted(message: str) -> str:
    """A message before it is salted, without the places for the salt: the same for every call with the same content."""
    return message.replace(SALT, "")


# Estimated number of tokens of a text, without the model's tokenizer. Tokenizers differ between providers, and most need a
# download. But all split text in the same way before they encode it: words with their leading space, groups of up to three
# digits, runs of punctuation. A common word is one token.

_PIECE = re.compile(
    r"(?P<latin>[A-Za-z]+)|(?P<digits>\d+)|(?P<wide>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|(?P<letters>[^\W\d_])"
    r"|(?P<marks>(?:[^\w\s]|_)+)|(?P<breaks>\n\s*)"
)
_PER_TOKEN = {"latin": 8, "digits": 3, "marks": 3}  # characters; any other piece is one token
_LETTERS = 2.5  # letters of non-Latin alphabets per token, approximately
_FRAME = 8  # tokens that frame the two messages


def estimated_tokens(text: str) -> int:
    """Approximate number of tokens in a text, in time linear in its length.

    A Latin word counts one token for each eight letters or part thereof. Digits and runs of punctuation count one for each
    group of three or part thereof. A line break counts one, and so does each Chinese, Japanese or Korean character. Letters
    of other alphabets count two tokens for five letters.

    Examples
    --------
    >>> estimated_tokens("The cat sat."), estimated_tokens("internationalisation"), estimated_tokens("")
    (4, 3, 0)
    >>> estimated_tokens('{"name": "Mara Quill", "kind": "person"}')
    13
    """
    whole, letters = 0, 0
    for match in _PIECE.finditer(text):
        kind, length = match.lastgroup, match.end() - match.start()
        if kind == "letters":
            letters += 1
        else:
            whole += -(-length // _PER_TOKEN.get(kind or "", length))
    return whole + int(letters / _LETTERS + 0.999)


def request_tokens(system: str, user: str) -> int:
    """Approximate number of input tokens of a call: both messages and the 8 tokens that frame them.

    Parameters
    ----------
    system : the system message
    user : the user message

    Returns
    -------
    int
        The estimate; see :func:`estimated_tokens`.
    """
    return estimated_tokens(system) + estimated_tokens(user) + _FRAME
