"""Preference alignment: make pairs of answers with reasons, audit them, train on them, and compare the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.progress import OnProgress, listening
from hlgraph.sdk.arguments import checking

if TYPE_CHECKING:
    from hlgraph.align.audit import Audit
    from hlgraph.align.contest import Comparison
    from hlgraph.align.make import PairsCost, PairSet, PairsOptions, PairsPlan
    from hlgraph.align.train import Trained, TrainSettings
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.sdk.client import HLGraph


class Alignment:
    """Preference alignment (GraphMPA, section 4) on pairs of answers that are made from the corpora of a store.

    Parameters
    ----------
    graph : the store

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.align.make("data/musique").write("pairs")
            print(graph.align.audit("pairs").findings)
            graph.align.train("pairs", "./llama-3.1-8b", folder="trained")
            graph.align.compare("pairs", "./llama-3.1-8b", adapters={"mine": "trained"})
    """

    def __init__(self, graph: HLGraph) -> None:
        self._graph = graph

    @checking
    def make(
        self,
        folder: str | Path,
        *,
        questions: str | Path | None = None,
        test: str | Path | None = None,
        subsets: Sequence[str] = (),
        limit: int | None = None,
        contexts: int = 3,
        held_out: float = 0.1,
        negatives: Sequence[str] | None = None,
        strategy: str = "hierarchy",
        chats: Sequence[str] = (),
        literal: bool = False,
        budget: Budget | None = None,
        on_progress: OnProgress | None = None,
    ) -> PairSet:
        """Pairs of answers, one preferred and one not, from questions with gold answers.

        The passages of the set are ingested into the corpus ``eval-NAME`` of this store. Usable replies are stored, so
        repeating the call continues and pays for none of them twice.

        Parameters
        ----------
        folder : of the evaluation set
        questions : file of questions in place of that of the set
        test : file of held-out questions over the same passages; None: a part of the questions
        subsets, limit : only questions of these subsets, and only the first ``limit``
        contexts : maximum number of contexts; each question is used with 0, 1, ... of them
        held_out : share of the questions that is held out if ``test`` is None
        negatives : kinds of rejected answers: ``bare``, ``citation``, ``other``; None: all, with ``literal`` only ``bare``
        strategy : finds the contexts
        chats : names of the chat models that write reasons; none: that of the settings
        literal : the data of the paper: a reason may cite nothing and need not rest on its contexts, so those that do not help
            stay, and the only rejected answer is the bare gold answer
        budget : for all models together
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        PairSet
            The pairs, and the reasons that were left out; ``write`` them to a folder.

        Raises
        ------
        InputError : no question has answers, no chat model is named, or a given split leaks
        BudgetError : the budget is spent; the replies so far are kept
        ModelError : a model cannot be called
        """
        from hlgraph.align.make import PairsOptions

        options = PairsOptions(
            questions=questions,
            test=test,
            subsets=tuple(subsets),
            limit=limit,
            contexts=contexts,
            held_out=held_out,
            negatives=None if negatives is None else tuple(negatives),
            strategy=strategy,
            chats=tuple(chats),
            literal=literal,
        )
        with listening(on_progress):
            graph, pairs = self._planned(folder, options)
            return pairs.make(graph, budget=budget)

    @checking
    def plan(
        self,
        folder: str | Path,
        *,
        questions: str | Path | None = None,
        test: str | Path | None = None,
        subsets: Sequence[str] = (),
        limit: int | None = None,
        contexts: int = 3,
        held_out: float = 0.1,
        strategy: str = "hierarchy",
        chats: Sequence[str] = (),
        literal: bool = False,
        on_progress: OnProgress | None = None,
    ) -> PairsCost:
        """The cost of :meth:`make`, for each model. The set is ingested and searched; no chat model is called.

        Parameters
        ----------
        folder, questions, test, subsets, limit, contexts, held_out, strategy, chats, literal, on_progress : see :meth:`make`

        Returns
        -------
        PairsCost

        Raises
        ------
        InputError : as :meth:`make`
        """
        from hlgraph.align.make import PairsOptions

        options = PairsOptions(
            questions=questions,
            test=test,
            subsets=tuple(subsets),
            limit=limit,
            contexts=contexts,
            held_out=held_out,
            strategy=strategy,
            chats=tuple(chats),
            literal=literal,
        )
        with listening(on_progress):
            graph, pairs = self._planned(folder, options)
            return pairs.cost(graph)

    def _planned(self, folder: str | Path, options: PairsOptions) -> tuple[HLGraph, PairsPlan]:
        """The corpus of the set, and the plan."""
        from hlgraph.align.make import plan_pairs

        pairs = plan_pairs(folder, options, settings=self._graph.settings)
        return self._graph.in_corpus(f"eval-{pairs.dataset.name}"), pairs

    @checking
    def audit(self, pairs: str | Path, *, max_length_auc: float = 0.95) -> Audit:
        """Find flaws of pairs that make training worthless: lengths that reveal the preferred answer, copies, leakage.

        Parameters
        ----------
        pairs : the folder that :meth:`make` filled, or a file of pairs
        max_length_auc : the audit reports a fatal flaw if length alone separates the pairs with this AUC or more; above 1: never

        Returns
        -------
        Audit

        Raises
        ------
        InputError : there is no pair, or the AUC is below 0.5
        ReadError : a file cannot be read
        """
        from hlgraph.align.audit import audit
        from hlgraph.align.pairs import held_out_beside, read_pairs

        return audit(read_pairs(pairs), held_out_beside(pairs), most_auc=max_length_auc)

    @checking
    def train(
        self,
        pairs: str | Path,
        model: str,
        *,
        folder: str | Path,
        settings: TrainSettings | None = None,
        resume: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Trained:
        """Train an adapter of a language model on pairs.

        Parameters
        ----------
        pairs : the folder that :meth:`make` filled, or a file of pairs
        model : a folder, a file of GGUF, or a name that transformers loads
        folder : where the adapter, its checkpoints and its metrics are written
        settings : of the training; None: those of the paper
        resume : continue from the last checkpoint in the folder
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Trained

        Raises
        ------
        MissingExtraError : the extra ``align`` is not installed
        InputError : held-out sources leak into the pairs, the model cannot be loaded, or the folder holds another training
        ReadError : a file cannot be read
        """
        from hlgraph.align.train import train_on

        with listening(on_progress):
            return train_on(pairs, model, folder=Path(folder), settings=settings, resume=resume)

    @checking
    def compare(
        self,
        pairs: str | Path,
        model: str,
        *,
        adapters: Mapping[str, str | Path] | None = None,
        limit: int | None = None,
        ask: int | None = None,
        answer_tokens: int = 200,
        beta: float = 0.1,
        device: str = "auto",
        on_progress: OnProgress | None = None,
    ) -> Comparison:
        """The untrained model and trained adapters on held-out pairs: preferences, margins, losses, and their own answers.

        Parameters
        ----------
        pairs : the folder that :meth:`make` filled, or a file of held-out pairs
        model : see :meth:`train`
        adapters : folders of trained adapters, by a name for the tables
        limit : only the first pairs
        ask : ask for answers to the first questions only; 0: to none; None: to all
        answer_tokens : limit of one answer
        beta : strength of the reference, for margin and losses
        device : ``cpu``, ``cuda``, or ``auto``: a GPU if there is one
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Comparison

        Raises
        ------
        MissingExtraError : the extra ``align`` is not installed
        InputError : there is no pair, a name is taken, or the model or an adapter cannot be loaded
        ReadError : a file cannot be read
        """
        from hlgraph.align.contest import CompareOptions, compare_adapters

        named = [f"{name}={place}" for name, place in (adapters or {}).items()]
        options = CompareOptions(limit=limit, ask=ask, answer_tokens=answer_tokens, beta=beta, device=device)
        with listening(on_progress):
            return compare_adapters(pairs, model, adapters=named, options=options)
