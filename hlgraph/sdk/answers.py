"""The cost of an answer, estimated before any call is made, and answers without any evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.progress import OnProgress, listening
from hlgraph.sdk.arguments import checked, parsed
from hlgraph.sdk.batches import planning_executor
from hlgraph.where import Caller

if TYPE_CHECKING:
    from hlgraph.answer.answering import AnswerRequest
    from hlgraph.answer.plan import AnswerPlan
    from hlgraph.evaluate.judges.report import Candidate, JudgeOptions, JudgeReport
    from hlgraph.evaluate.report import Evaluation
    from hlgraph.models.accounts.budget import Budget, ExpectedCost
    from hlgraph.models.choose import ChosenModels
    from hlgraph.models.protocols import ChatModel
    from hlgraph.records import Answer
    from hlgraph.retrieve import SearchResult
    from hlgraph.retrieve.request import Unit
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import Stores
    from hlgraph.where import AnyWhere


@checked
@dataclass(frozen=True, slots=True)
class Answers:
    """Cost estimates of answers, which need only the name of the chat model, and answers without evidence.

    Parameters
    ----------
    settings, stores : settings that name the corpus, and the open stores
    models : the embedder and the reranker of the search, and the name of the chat model
    chat : makes the executor of the chat model for one command, within a budget; None without a chat model
    """

    settings: Settings
    stores: Stores
    models: ChosenModels
    chat: Callable[[Budget | None], ChatModel | None] = lambda _: None

    @property
    def model(self) -> str:
        """The name of the chat model that answers, or its fingerprint if an object was passed; empty without one."""
        asked = self.models.chat_asked_for
        if asked is None or isinstance(asked, str):
            return asked or ""
        return "" if (chat := self.models.chat) is None else chat.fingerprint

    def closed_book(self, question: str, *, budget: Budget | None = None) -> Answer:
        """The chat model's answer from what it knows, without any evidence: nothing is retrieved, and nothing is cited.

        It shows how much of an evaluation the model knows by itself (GraphMPA, Table 7).

        Parameters
        ----------
        question : text of the question
        budget : of the chat model

        Returns
        -------
        Answer
            ``is_supported`` is False, since no source supports it.

        Raises
        ------
        InputError : there is no chat model
        ModelError : the chat model cannot be used
        BudgetError : the budget does not cover the call
        """
        from hlgraph.answer.writer import Writer, closed_book_answer

        if (chat := self.chat(budget)) is None:
            raise InputError(
                "an answer without evidence needs a chat model, and none is configured; name one in HLGRAPH_CHAT or "
                "models.chat (such as openai:gpt-4o-mini)"
            )
        model = asking_about(chat, Purpose(stage="answer", strategy="closed_book"))
        return closed_book_answer(question, writer=Writer(model=model, max_tokens=self.settings.models.max_tokens))

    def judge(
        self,
        answers: str | Path | Evaluation,
        judging: JudgeOptions,
        *,
        labels: str | Path | None = None,
        budget: Budget | None = None,
        out: str | Path | None = None,
        on_progress: OnProgress | None = None,
    ) -> JudgeReport:
        """The verdicts of a chat model on answers of an evaluation, without asking the questions again.

        Parameters
        ----------
        answers : an evaluation with answers, or the file ``answers.jsonl`` that its ``write`` made
        judging : the judges, their model, criteria and trials
        labels : file of labels of people, to compare with
        budget : of the model that judges
        out : folder for the verdicts as files; None: they are not written
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        JudgeReport

        Raises
        ------
        InputError : no model is named, the evaluation has no answers, or a folder cannot be written
        ReadError : a file cannot be read
        """
        from hlgraph.evaluate.judges.judging import judge_answers
        from hlgraph.evaluate.judges.report import judge_files
        from hlgraph.evaluate.report import write_files

        candidates = _candidates(answers)
        with listening(on_progress):
            report = judge_answers(candidates, judging, settings=self.settings, labels=labels, budget=budget)
        if out is not None:
            write_files(Path(out), judge_files(report, candidates))
        return report

    def judging_cost(self, answers: str | Path | Evaluation, judging: JudgeOptions) -> ExpectedCost:
        """The cost of :meth:`judge`; no model is called.

        Parameters
        ----------
        answers, judging : see :meth:`judge`

        Raises
        ------
        InputError, ReadError : see :meth:`judge`
        """
        from hlgraph.evaluate.judges.judging import planned

        return planned(_candidates(answers), judging, settings=self.settings)

    def plan(
        self,
        request: AnswerRequest,
        *,
        strategy: str | Retriever = "auto",
        where: AnyWhere | None = None,
        unit: Unit | None = None,
        diversity: float | None = None,
        model: str = "",
    ) -> AnswerPlan:
        """The cost of an answer by the chat model in calls, tokens, money and time. Calls no model and writes nothing.

        The search runs as for the answer; if its ``by`` is ``chat``, made-up replies replace those of the model.

        Parameters
        ----------
        request : the question, and how it would be answered
        strategy, where, unit, diversity : as for :meth:`hlgraph.HLGraph.answer`
        model : name of the chat model that would be asked; empty: the one that the settings name

        Returns
        -------
        AnswerPlan

        Raises
        ------
        InputError : no chat model is named, or what :meth:`hlgraph.HLGraph.answer` raises
        """
        from hlgraph.answer.answering import answering, finding, last
        from hlgraph.answer.plan import Rehearsal
        from hlgraph.retrieve import SearchRequest, search

        asked = SearchRequest(request.question, self.settings.corpus, request.evidence_count, where=parsed(where))
        asked = replace(asked, caller=Caller(operates=True), unit=unit, diversity=diversity)
        with planning_executor(model or self.models.chat_asked_for, self.settings) as executor:
            rehearsal = Rehearsal(executor)
            names: list[str] = []

            def run(wanted: SearchRequest, chosen: str | Retriever) -> SearchResult:
                embedder, reranker = self.models.embedder_of, self.models.reranker
                result = search(
                    wanted, chosen, stores=self.stores, embedder=embedder, reranker=reranker, chat=rehearsal
                )
                names.append(result.explain.strategy)
                return result

            find = finding(request, asked, strategy=strategy, run=run, stores=self.stores, chat=rehearsal)
            answer = last(answering(request, find=find, chat=rehearsal, max_tokens=self.settings.models.max_tokens))
            return rehearsal.plan(request, answer, strategy=names[0])


def _candidates(answers: str | Path | Evaluation) -> list[Candidate]:
    from hlgraph.evaluate.judges.report import candidates_of, load_candidates

    if isinstance(answers, str | Path):
        return load_candidates(answers)
    if answers.answers is None:
        raise InputError("the evaluation has no answers to judge; evaluate with answers=True")
    return candidates_of(answers.answers)
