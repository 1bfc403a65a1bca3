"""Make evaluation questions from the facts of a corpus or with a chat model, check them, and export them as a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hlgraph.errors import InputError
from hlgraph.progress import OnProgress, listening
from hlgraph.sdk.arguments import checking

if TYPE_CHECKING:
    from hlgraph.evaluate.questions.checking import CheckReport, Exported
    from hlgraph.evaluate.questions.record import MadeQuestion, QuestionKind, QuestionSet
    from hlgraph.models.accounts.budget import Budget, ExpectedCost
    from hlgraph.sdk.client import HLGraph


class Questions:
    """Evaluation questions of one corpus.

    Parameters
    ----------
    graph : the corpus

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            made = graph.questions.make(50)
            graph.questions.export(made.questions, "my-set")
            graph.evaluate("my-set", strategies=["chunk", "path"])
    """

    def __init__(self, graph: HLGraph) -> None:
        self._graph = graph.as_operator()  # questions are made and checked with every source

    @checking
    def make(
        self,
        count: int = 200,
        *,
        kinds: Sequence[QuestionKind] = (),
        method: Literal["facts", "chat"] = "facts",
        validator: str = "",
        seed: int = 0,
        by: str = "",
        budget: Budget | None = None,
        on_progress: OnProgress | None = None,
    ) -> QuestionSet:
        """Multi-hop questions from the facts of the corpus, or by the chat model. The same call again pays for nothing twice.

        Parameters
        ----------
        count : number of questions
        kinds : ``bridge``, ``comparison``, ``intersection``, ``null`` from facts; ``synthesis``, ``null``, ``abstract`` by a chat
            model; none: all of the method but ``abstract``
        method : templates over the facts of the graph, or the chat model that the settings name
        validator : name of the model that criticises and answers; empty: ``models.judge``, otherwise the chat model
        seed : of the choice
        by : metadata field that names the document of a source; empty: each source is a document
        budget : of both models together
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        QuestionSet
            Fewer questions than requested if the corpus yields no more; ``stopped`` is set if the budget or the provider ended
            the run.

        Raises
        ------
        InputError : an option that cannot be used, no chat model is named, or the corpus holds nothing to ask about
        UnknownNameError : there is no such corpus
        """
        with listening(on_progress):
            if method == "facts":
                if validator or budget:
                    raise InputError(
                        f"{'validator' if validator else 'budget'} is for the method chat; facts cost nothing"
                    )
                from hlgraph.evaluate.questions.making import make, quotas

                wanted = quotas(count, kinds) if kinds else quotas(count)
                return make(self._graph, wanted, seed=seed, by=by)
            from hlgraph.evaluate.questions.writing import even, two_models, write

            wanted = even(count, kinds)
            with two_models(self._graph.settings, validator=validator, budget=budget) as (writer, second):
                return write(self._graph, wanted, writer=writer, validator=second, seed=seed, by=by)

    @checking
    def plan(
        self,
        count: int = 200,
        *,
        kinds: Sequence[QuestionKind] = (),
        validator: str = "",
        seed: int = 0,
        by: str = "",
        on_progress: OnProgress | None = None,
    ) -> list[ExpectedCost]:
        """The cost of :meth:`make` by the chat model, for each model. Calls no model and writes nothing.

        Parameters
        ----------
        count, kinds, validator, seed, by, on_progress : see :meth:`make`

        Returns
        -------
        list of ExpectedCost

        Raises
        ------
        InputError : an option that cannot be used, or no chat model is named
        """
        from hlgraph.evaluate.questions.writing import ForecastExecutor, even, two_models, write

        wanted = even(count, kinds)
        models = two_models(self._graph.settings, validator=validator, is_planned=True)
        with listening(on_progress), models as (writer, second):
            first = ForecastExecutor(writer)
            other = first if second is writer else ForecastExecutor(second)
            write(self._graph, wanted, writer=first, validator=other, seed=seed, by=by)
            return [item.expected() for item in dict.fromkeys((first, other))]

    @checking
    def check(
        self,
        questions: str | Path | Sequence[MadeQuestion],
        *,
        by: Literal["words", "chat"] = "words",
        budget: Budget | None = None,
        on_progress: OnProgress | None = None,
    ) -> CheckReport:
        """Missing gold, answers that the gold does not contain, duplicates, and questions that one source alone answers.

        Parameters
        ----------
        questions : the questions, or their file
        by : how the last are found: by words, or also by what the chat model answers from each gold source alone
        budget : for the chat model
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        CheckReport
            ``alone`` is what the chat model answered.

        Raises
        ------
        InputError : the questions are of another corpus, or ``chat`` is wanted and no chat model is named
        ReadError : the file cannot be read
        """
        from hlgraph.evaluate.questions.checking import check

        if budget and by != "chat":
            raise InputError("a budget is for --by chat; a check by words costs nothing")
        some = _read(questions)
        with listening(on_progress):
            report = check(self._graph, some)
            if by == "words":
                return report
            from hlgraph.evaluate.questions.writing import answer_alone, two_models

            with two_models(self._graph.settings, budget=budget) as (model, _):
                alone = answer_alone(self._graph, some, model=model)
            return replace(report, findings=(*report.findings, *alone.findings), alone=alone)

    @checking
    def export(
        self,
        questions: str | Path | Sequence[MadeQuestion],
        folder: str | Path,
        *,
        on_progress: OnProgress | None = None,
    ) -> Exported:
        """Write the chunks of the corpus and the questions as an evaluation set, for :meth:`hlgraph.HLGraph.evaluate`.

        Parameters
        ----------
        questions : the questions, or their file
        folder : created if it does not exist; files of the same names are replaced
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Exported
            Numbers of passages and questions.

        Raises
        ------
        InputError : the questions are of another corpus, none has a gold passage, or the folder cannot be written
        ReadError : the file cannot be read
        """
        from hlgraph.evaluate.questions.checking import export

        with listening(on_progress):
            return export(self._graph, _read(questions), folder=folder)


def _read(questions: str | Path | Sequence[MadeQuestion]) -> Sequence[MadeQuestion]:
    from hlgraph.evaluate.questions.record import read_questions

    return read_questions(questions) if isinstance(questions, str | Path) else questions
