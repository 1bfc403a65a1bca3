"""SDK errors in command-line terms: ``by is 'x'`` becomes ``--by is 'x'``, ``mapping`` becomes ``--map``."""

from __future__ import annotations

import re

# Parameters of the SDK that have an option of the same name, with - for _.
SAME = frozenset(
    {
        *("adapt", "by", "context_tokens", "diversity", "encoding", "extract", "extractions", "format", "k"),
        *(
            "least_support",
            "level",
            "max_bytes",
            "max_levels",
            "max_size",
            "missing",
            "mode",
            "resolution",
            "search_mode",
        ),
        *(
            "seed",
            "spacy_model",
            "strategy",
            "style",
            "summaries",
            "tabular",
            "unit",
            "unsupported",
            "verify",
            "workers",
        ),
        *("where", "explain", "delete_missing", "trials", "against"),
    }
)
OTHER = {
    "mapping": "--map",
    "is_chunked": "--chunked",
    "choices": "--choice",
    "budget": "--max-tokens or --max-usd",
    "question": "QUESTION",
    "sources": "PATH",
    "uris": "URI",
}
_NAME = "|".join(sorted(SAME | OTHER.keys(), key=lambda name: (-len(name), name)))
_FIRST = re.compile(rf"^({_NAME})(?=(\[\d+\])? is |: | \w[\w.]*=)")
_WITH_VALUE = re.compile(rf"\b({_NAME})=(?:'([^']*)'|(True))")
_WITH_LIST = re.compile(rf"\b({_NAME})=\['([^']*)'\]")
_LEFT = re.compile(rf"\bleave (?:the )?({_NAME}) (out|at)\b")
_OBJECTS = re.compile(r", or give it to connect\(chat=\.\.\.\)|, or a retriever, such as \S+")


def option(name: str) -> str:
    """The option of a parameter of the SDK.

    Examples
    --------
    >>> option("mapping"), option("max_bytes")
    ('--map', '--max-bytes')
    """
    return OTHER.get(name) or f"--{name.replace('_', '-')}"


def in_options(message: str) -> str:
    """The message of an error, with options in place of parameters of the SDK.

    Examples
    --------
    >>> in_options("by is 'chat', and no chat model is configured; name one, or give it to connect(chat=...)")
    "--by is 'chat', and no chat model is configured; name one"
    >>> in_options("extraction by 'local' costs nothing; add extract='chat', or leave budget out")
    "extraction by 'local' costs nothing; add --extract chat, or leave --max-tokens or --max-usd out"
    """
    message = _FIRST.sub(lambda found: option(found[1]), _OBJECTS.sub("", message))
    message = _WITH_LIST.sub(lambda found: f"{option(found[1])} {found[2]}", message)
    message = _WITH_VALUE.sub(lambda found: f"{option(found[1])} {found[2] or ''}".rstrip(), message)
    return _LEFT.sub(lambda found: f"leave {option(found[1])} {found[2]}", message)
