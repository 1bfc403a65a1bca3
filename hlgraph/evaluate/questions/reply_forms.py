"""The forms of the replies of a chat model that writes and checks questions.

The docstrings are part of the JSON schemas that providers get: to change one is to change a prompt.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from hlgraph.extract.chat.reply_schema import Name, Words


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Draft(_Part):
    """A question, its answer, and the numbers of the snippets that it needs."""

    question: Words
    answer: Words
    snippets: list[int]


class Critique(Draft):
    """Whether a question can be used, and the question, the answer and the snippets as they should be."""

    is_usable: bool
    reason: str = ""


class Answered(_Part):
    """The answer that the snippets give; null if they give none."""

    answer: str | None


class Agreement(_Part):
    """Whether the second answer says what the first one says."""

    agrees: bool


class Asked(_Part):
    """A question."""

    question: Words


class User(_Part):
    """A user of the collection and what they want to do."""

    user: Name
    tasks: list[Name]


class Users(_Part):
    """Users of the collection."""

    users: list[User]


class Questions(_Part):
    """Questions of a user."""

    questions: list[Words]
