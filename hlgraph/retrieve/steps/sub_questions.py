"""The sub-queries of a question, made once in a search."""

from __future__ import annotations

from hlgraph.retrieve.question.subqueries import Splitter
from hlgraph.retrieve.session import Session


def sub_questions(session: Session, splitter: Splitter) -> tuple[str, ...]:
    """The sub-queries of the question; a wider search reuses them.

    Parameters
    ----------
    session : of the search; keeps them
    splitter : makes them

    Returns
    -------
    tuple
        At least one.
    """
    name = splitter.fingerprint
    if name not in session.subqueries:
        with session.step("split") as step:
            found = session.subqueries[name] = splitter.split(session.request.question)
            step.count = len(found)
            step.details = {"splitter": name, "subqueries": " | ".join(found)}
    return session.subqueries[name]
