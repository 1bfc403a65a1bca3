"""The cost of an answer, estimated before any call is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlgraph.sdk.arguments import checked, parsed
from hlgraph.sdk.batches import planning_executor

if TYPE_CHECKING:
    from hlgraph.answer.plan import AnswerPlan
    from hlgraph.answer.request import AnswerRequest
    from hlgraph.models.choose import ChosenModels
    from hlgraph.retrieve import SearchResult
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import Stores
    from hlgraph.where import AnyWhere


@checked
@dataclass(frozen=True, slots=True)
class Answers:
    """Cost estimates of answers. Needs only the name of the chat model, no API key.

    Parameters
    ----------
    settings, stores : settings that name the corpus, and the open stores
    models : the embedder and the reranker of the search, and the name of the chat model
    """

    settings: Settings
    stores: Stores
    models: ChosenModels

    def plan(
        self,
        request: AnswerRequest,
        *,
        strategy: str | Retriever = "auto",
        where: AnyWhere | None = None,
    ) -> AnswerPlan:
        """The cost of an answer by the chat model in calls, tokens, money and time. Calls no model and writes nothing.

        The search runs as for the answer; if its ``by`` is ``chat``, made-up replies replace those of the model.

        Parameters
        ----------
        request : the question, and how it would be answered
        strategy, where : as for :meth:`hlgraph.HLGraph.answer`

        Returns
        -------
        AnswerPlan

        Raises
        ------
        InputError : no chat model is named, or what :meth:`hlgraph.HLGraph.answer` raises
        """
        from hlgraph.answer.events import answering, finding, last
        from hlgraph.answer.plan import Rehearsal
        from hlgraph.retrieve import SearchRequest, search

        asked = SearchRequest(request.question, self.settings.corpus, request.evidence_count, where=parsed(where))
        with planning_executor(self.models.chat_asked_for, self.settings) as executor:
            rehearsal = Rehearsal(executor)
            names: list[str] = []

            def run(wanted: SearchRequest, chosen: str | Retriever) -> SearchResult:
                embedder, reranker = self.models.embedder, self.models.reranker
                result = search(
                    wanted, chosen, stores=self.stores, embedder=embedder, reranker=reranker, chat=rehearsal
                )
                names.append(result.explain.strategy)
                return result

            find = finding(request, asked, strategy=strategy, run=run, stores=self.stores, chat=rehearsal)
            answer = last(answering(request, find=find, chat=rehearsal, max_tokens=self.settings.models.max_tokens))
            return rehearsal.plan(request, answer, strategy=names[0])
