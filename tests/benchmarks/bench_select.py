"""A trained Select for ``fused``: a small cross-encoder, fitted to some sets, on a set that it has not seen.

For every question the best 40 passages of ``fused`` are taken with the log of their scores. The model reads the question (40
tokens) and a passage (its title and its best statements, 40 tokens) together. It starts from the first layers of the local
embedder; the first one and the embeddings stay as they are. Its score is

``a log(fused) + b cos(mean q, mean t) + c mean_i max_j cos(q_i, t_j) + w [first token; mean q * mean t]``

over the token vectors of the last layer, with ``a = 1`` and ``w = 0`` at the start, so that training corrects the order of
``fused``. The loss is the likelihood of the gold passages in a softmax over them and hard negatives, drawn by rank. For each
set the model is fitted to the sets that share no question with it, or, with ``--own``, to these and half of the set, and
measured on the other half, apart for questions none of whose gold passages was gold in training. The model's part of the score
counts in full (x 1.0) and in part (x 0.3). Needs the extra ``align``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from evaluation_sets import open_set, origin_line
from measure import say, table
from numpy.typing import NDArray
from tokenizers import Tokenizer

import hlgraph
from hlgraph.align.train import needing_extra
from hlgraph.evaluate.statistics import Resamples
from hlgraph.models.install import default_root
from hlgraph.models.local.bert import padded
from hlgraph.records import Chunk, Kind, Relationship, Source, Statement
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked, rerank
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.strategies.fused import FusedRetriever
from hlgraph.stores.protocols import PullShape

with needing_extra():
    import torch
    from torch import nn
    from torch.nn import functional
    from transformers import BertModel
    from transformers.utils import logging

SETS = ("musique_oie", "musique", "2wikimultihopqa", "hotpotqa", "popqa", "multihop_rag_70", "multihop_rag_wide")
MOST = 40
TOKENS, TITLE_TOKENS = 40, 20
_SPECIAL = {"start": 101, "end": 102, "full stop": 1012}  # of the vocabulary of BERT
_STATEMENTS = PullShape.along(Relationship.IN_CHUNK, fan_out=1_000)
_BATCH = 64  # pairs


class Asked(NamedTuple):
    """One question: token ids of each pair and where the passage starts, the log of the fused scores, which passages are gold.

    ``wanted`` has the ids of all gold passages.
    """

    pairs: list[tuple[list[int], int]]
    prior: NDArray[np.float32]
    gold: NDArray[np.bool_]
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Seen:
    """``fused``; keeps the best passages of each question: URI, title, best statements, score."""

    unit: ClassVar[Unit] = "chunk"
    fused: FusedRetriever = field(default_factory=FusedRetriever)
    seen: list[tuple[str, str, str, float]] = field(default_factory=list)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`hlgraph.retrieve.retriever.Retriever`."""
        ranked = self.fused.rank(session, k)
        best = ranked.hits[:MOST]
        chunks = session.records(Chunk, [hit.id for hit in best])
        sources = session.records(Source, sorted({item.source_id for item in chunks.values()}))
        graph = session.pull(list(chunks), _STATEMENTS)
        ids = [str(graph.ids[at]) for at in graph.nodes(Kind.STATEMENT)]
        statements = session.records(Statement, ids)
        texts: dict[str, list[str]] = {}
        for hit in rerank(session, Kind.STATEMENT, ids=ids).hits:
            texts.setdefault(statements[hit.id].chunk_id, []).append(statements[hit.id].text)
        for hit in best:
            source = sources[chunks[hit.id].source_id]
            text = " ".join(texts.get(hit.id, [chunks[hit.id].text]))
            about = [str(source.metadata[name])[:40] for name in ("source", "published_at") if name in source.metadata]
            title = " ".join([source.title or "", *about])
            self.seen.append((source.uri.removeprefix("passage:"), title, text, hit.score))
        return ranked


def ask(name: str, scratch: Path, *, tokenizer: Tokenizer, limit: int | None) -> list[Asked]:
    """The candidates of the questions of a set."""
    item = open_set(name, scratch / "data", questions=limit)
    files = tuple(str(path) for path in item.dataset.extractions)
    documents = (
        hlgraph.Document(f"passage:{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)
        for passage in item.passages
    )

    def tokens(text: str, most: int) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids[:most])

    found = []
    with hlgraph.connect(f"hlgraph://{scratch}/store", corpus=name) as graph:
        extract = "precomputed" if files else "local"
        graph.ingest(documents, extract=extract, extractions=files, missing="local", is_chunked=True)  # type: ignore[arg-type]
        for question in item.dataset.questions:
            retriever = _Seen()
            graph.search(question.text, strategy=retriever, k=20, unit="chunk")
            asked = [_SPECIAL["start"], *tokens(question.text, TOKENS), _SPECIAL["end"]]
            pairs = []
            for _, title, text, _ in retriever.seen:
                head = tokens(title, TITLE_TOKENS)
                body = [*head, *([_SPECIAL["full stop"]] if head else []), *tokens(text, TOKENS)][:TOKENS]
                pairs.append(([*asked, *body, _SPECIAL["end"]], len(asked)))
            scores = np.array([score for *_, score in retriever.seen], dtype=np.float32)
            gold = np.array([uri in question.gold for uri, *_ in retriever.seen], dtype=np.bool_)
            found.append(Asked(pairs, np.log(scores / scores[0] + 1e-3), gold, frozenset(question.gold)))
    say(f"{name}: {len(found)} questions")
    return found


class PairReader(nn.Module):
    """The cross-encoder. Its score is without the prior, whose weight is ``prior``."""

    def __init__(self, folder: Path, layers: int) -> None:
        super().__init__()
        # It stays in evaluation mode, so that nothing is dropped at random.
        self.bert = BertModel.from_pretrained(
            folder, num_hidden_layers=layers, add_pooling_layer=False, attn_implementation="eager"
        )
        self.bert.embeddings.requires_grad_(False)
        self.bert.encoder.layer[0].requires_grad_(False)
        self.head = nn.Linear(2 * self.bert.config.hidden_size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.alike = nn.Parameter(torch.tensor([2.0, 2.0]))
        self.prior = nn.Parameter(torch.tensor(1.0))

    def forward(self, ids: torch.Tensor, is_token: torch.Tensor, is_text: torch.Tensor) -> torch.Tensor:
        """Scores, shape (pairs,); all inputs have the shape (pairs, tokens)."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            read = self.bert(input_ids=ids, attention_mask=is_token.long(), token_type_ids=is_text.long())
        rows = read.last_hidden_state.float()
        asked, said = (is_token & ~is_text).float(), (is_token & is_text).float()
        question, text = (functional.normalize((rows * part[..., None]).sum(1), dim=-1) for part in (asked, said))
        each = functional.normalize(rows, dim=-1)
        closest = (each @ each.transpose(1, 2)).masked_fill(~(is_token & is_text)[:, None], -1).amax(-1)
        alike = torch.stack([(question * text).sum(-1), (closest * asked).sum(1) / asked.sum(1)], -1)
        both = torch.cat([rows[:, 0] / 10, question * text * 20], -1)  # of similar size
        return self.head(both)[:, 0] + alike @ self.alike


def score(model: PairReader, pairs: Sequence[tuple[list[int], int]]) -> torch.Tensor:
    """The scores of pairs, those of similar length together."""
    order = np.argsort([len(ids) for ids, _ in pairs], kind="stable")
    scores = []
    for start in range(0, len(order), _BATCH):
        part = [pairs[at] for at in order[start : start + _BATCH]]
        ids, is_token = padded([ids for ids, _ in part], 0)
        is_text = is_token & (np.arange(ids.shape[1]) >= np.array([[start] for _, start in part]))
        scores.append(model(*map(torch.from_numpy, (ids, is_token, is_text))))
    return torch.zeros(len(pairs)).scatter(0, torch.from_numpy(order), torch.cat(scores))


def _drawn(one: Asked, pairs: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The gold passages, and others, more of those that rank high."""
    gold, others = np.flatnonzero(one.gold), np.flatnonzero(~one.gold)
    chance = 1 / (5 + others)
    count = min(len(others), max(pairs - len(gold), 1))
    return np.concatenate([gold, rng.choice(others, count, replace=False, p=chance / chance.sum())])


def _steps(asked: Sequence[Asked], chosen: argparse.Namespace, rng: np.random.Generator) -> Iterator[list[Asked]]:
    usable = [one for one in asked if one.gold.any() and not one.gold.all()]
    for _ in range(chosen.epochs):
        order = rng.permutation(len(usable))
        for start in range(0, len(order) - chosen.batch + 1, chosen.batch):
            yield [usable[at] for at in order[start : start + chosen.batch]]


def train(asked: Sequence[Asked], chosen: argparse.Namespace) -> PairReader:
    """A model that was fitted to these questions."""
    torch.manual_seed(chosen.seed)
    rng = np.random.default_rng(chosen.seed)
    model = PairReader(default_root() / "all-MiniLM-L6-v2", chosen.layers)
    heads = [*model.head.parameters(), model.alike, model.prior]
    body = [value for value in model.bert.parameters() if value.requires_grad]
    groups = [{"params": body, "lr": chosen.rate, "weight_decay": 0.01}, {"params": heads, "lr": 10 * chosen.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0)
    steps = list(_steps(asked, chosen, rng))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, 10 * (step + 1) / len(steps)) * (1 - step / len(steps))
    )
    for part in steps:
        places = [_drawn(one, chosen.pairs, rng) for one in part]
        pairs = [one.pairs[at] for one, some in zip(part, places, strict=True) for at in some]
        scores = score(model, pairs).split([len(some) for some in places])
        losses = []
        for one, some, values in zip(part, places, scores, strict=True):
            together = functional.log_softmax(values + model.prior * torch.from_numpy(one.prior[some]), 0)
            losses.append(-together[: np.count_nonzero(one.gold)].mean())
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        nn.utils.clip_grad_norm_([*heads, *body], 1.0)
        optimizer.step()
        schedule.step()
    return model


def recalls(some: Sequence[Asked], scores: Sequence[NDArray[np.float32]], k: int) -> NDArray[np.float64]:
    """Recall of each question at ``k``."""
    best = [np.argsort(-values, kind="stable")[:k] for values in scores]
    return np.array([np.count_nonzero(one.gold[at]) / len(one.wanted) for one, at in zip(some, best, strict=True)])


def report(name: str, asked: dict[str, list[Asked]], chosen: argparse.Namespace) -> None:
    """Print the row of a set: the model that was fitted to the sets which share no question with it, beside ``fused``."""
    group = name.split("_", maxsplit=1)[0]
    others = [one for other, some in asked.items() if other.split("_", maxsplit=1)[0] != group for one in some]
    learned = [*others, *asked[name][1::2]] if chosen.own else others
    model = train(learned, chosen)
    some = asked[name][::2] if chosen.own else asked[name]
    start = time.process_time()
    with torch.no_grad():
        read = [score(model, one.pairs).numpy() for one in some]
    say(f"{name}: {1000 * (time.process_time() - start) / len(some):.0f} CPU-ms a question in bfloat16")
    seen = {item for one in learned for item in one.wanted}
    parts = {"all": some, "no gold passage seen": [one for one in some if not one.wanted & seen]}
    rows = []
    for label, part in parts.items() if chosen.own else [("all", some)]:
        values = [value for one, value in zip(some, read, strict=True) if any(one is other for other in part)]
        for weight in (1.0, 0.3):
            after = [model.prior.item() * one.prior + weight * value for one, value in zip(part, values, strict=True)]
            rows.append((f"{label} ({len(part)}), x {weight}", *_cells(part, after, [one.prior for one in part])))
    table((name, "recall@5", "with Select", "recall@20", "with Select"), rows)


def _cells(
    some: Sequence[Asked], after: Sequence[NDArray[np.float32]], before: Sequence[NDArray[np.float32]]
) -> list[str]:
    cells = []
    for k in (5, 20):
        values = np.stack([recalls(some, after, k), recalls(some, before, k)], axis=1)
        each = Resamples(values).difference(0, 1)
        low, high = 100 * each.low, 100 * each.high
        cells += [f"{100 * values[:, 1].mean():.1f}", f"{100 * each.mean:+.1f} [{low:+.1f}, {high:+.1f}]"]
    return cells


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas")
    parser.add_argument("--left-out", default=",".join(SETS), help="sets to measure")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="keep the ingested sets here")
    parser.add_argument("--layers", type=int, default=3, help="of the embedder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=6, help="questions in a step")
    parser.add_argument("--pairs", type=int, default=10, help="of a question in a step")
    parser.add_argument("--rate", type=float, default=2e-4, help="highest learning rate; ten times for the last layer")
    parser.add_argument("--own", action="store_true", help="train on half of the measured set too")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    say(origin_line())
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(default_root() / "all-MiniLM-L6-v2" / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        scratch = chosen.store or Path(name)
        asked = {item: ask(item, scratch, tokenizer=tokenizer, limit=chosen.limit) for item in chosen.sets.split(",")}
    for item in chosen.left_out.split(","):
        report(item, asked, chosen)


if __name__ == "__main__":
    main()
