"""The results of an evaluation as one HTML page, which needs no network and no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from hlgraph.evaluate.answering import AnswerOutcome
from hlgraph.evaluate.bootstrap import Difference, Interval
from hlgraph.evaluate.comparison import significance
from hlgraph.evaluate.figures import MEASURE, Table
from hlgraph.evaluate.forest import Column, forest
from hlgraph.evaluate.metrics.retrieval import CUTOFFS
from hlgraph.evaluate.paired_tables import by_group, groupings
from hlgraph.evaluate.plots import Axis, Point, Series, chart
from hlgraph.evaluate.results import Results, grouped_parts, plot
from hlgraph.evaluate.runner import Outcome
from hlgraph.evaluate.worst_questions import SHOWN, Loss, losses
from hlgraph.retrieve.explain.frame import framed
from hlgraph.retrieve.explain.svg import escaped

_MOST_SERIES = 20  # more names do not fit beside a plot
_WORST = "Largest losses"
_RUN = "What was run"


def report_page(results: Results) -> str:
    """The whole page: what was run, every table and plot, and the questions with the largest losses.

    Raises
    ------
    InputError
        The results have no strategy.
    """
    style = files("hlgraph.evaluate").joinpath("report_page.css").read_text("utf-8")
    return framed(f"Evaluation of {results.report.dataset}", _body(results), style=style)


def _body(results: Results) -> Iterator[str]:
    report, parts = results.report, results.parts()
    yield f"<h1>Evaluation of <bdi>{escaped(report.dataset)}</bdi></h1>"
    yield f'<p class="soft">{len(report.questions)} questions, {len(report.strategies)} strategies</p>'
    lost = losses(report, results.against)
    titles = [_RUN, *parts, *([_WORST] if lost else [])]
    links = "".join(f'<li><a href="#{_anchor(title)}">{_shown(title)}</a></li>' for title in titles)
    yield f'<nav aria-label="Parts of the report"><ul>{links}</ul></nav><main>'
    yield from _findings(results)
    yield _heading(_RUN)
    yield from _run(results)
    for title, tables in parts.items():
        yield _heading(title)
        yield from _plots(results, title)
        for table in tables:
            yield from _table(table, results.against)
    if lost:
        yield _heading(_WORST)
        yield from _losses(results, lost)
    yield "</main>"


def _anchor(title: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split())


def _heading(title: str) -> str:
    return f'<h2 id="{_anchor(title)}">{_shown(title)}</h2>'


def _shown(title: str) -> str:
    return escaped(title[:1].upper() + title[1:])


def _findings(results: Results) -> Iterator[str]:
    """What may be said of the strategies after Holm's correction."""
    report, against = results.report, results.against
    value = 100 * report.strategies[against].scores.by_name()[MEASURE]
    yield f"<p><strong>{MEASURE} of <bdi>{escaped(against)}</bdi> is {value:.1f} %.</strong>"
    tested = significance(report, MEASURE, against=against)
    if not tested:
        yield "</p>"
        return
    beyond = [
        (name, found) for name, item in tested.items() if item.corrected < 0.05 and (found := _minus(results, name))
    ]
    words = (
        f"<bdi>{escaped(name)}</bdi> {100 * found.mean:+.1f} (p {_p_value(tested[name].corrected)})"
        for name, found in beyond
    )
    others = len(tested) - len(beyond)
    rest = f"The other {others} cannot be told from it with these questions." if others else ""
    yield "Beyond chance (permutation test, p below 0.05 after Holm's correction): "
    yield f"{', '.join(words) or 'no strategy'}. {rest}</p>"


def _p_value(value: float) -> str:
    """Three decimals: a p value is never shown as zero."""
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def _minus(results: Results, name: str) -> Difference | None:
    return results.uncertainty.between(MEASURE, name, b=results.against)


def _run(results: Results) -> Iterator[str]:
    setting = results.setting
    told = {
        "set": results.report.dataset,
        "corpus": f"{results.corpus} (fingerprint)",
        "questions": f"{len(results.report.questions)}, {results.asked} (fingerprint)",
        "version": f"hlgraph {setting.version}",
        "preset": setting.preset,
        "extraction": setting.extraction,
        "store": setting.store,
        "embedder": setting.embedder,
        "reranker": setting.reranker,
        "chat model": setting.chat or "none",
        "passages": f"{setting.k} a question",
        "compared with": f"{results.against} (marked with \u25c6 in the tables)",
    }
    told |= _cost(results)
    yield f"<dl>{''.join(f'<dt>{key}</dt><dd><bdi>{escaped(value)}</bdi></dd>' for key, value in told.items())}</dl>"
    if notes := results.notes()[2:]:  # the first two lines say what stands above
        yield f"<ul>{''.join(f'<li><bdi>{escaped(line)}</bdi></li>' for line in notes)}</ul>"
    for name, values in setting.parameters.items():
        shown = "".join(f"<dt>{escaped(key)}</dt><dd>{escaped(str(value))}</dd>" for key, value in values.items())
        yield f"<details><summary>parameters of <bdi>{escaped(name)}</bdi></summary><dl>{shown}</dl></details>"


def _cost(results: Results) -> dict[str, str]:
    """What the chat model cost for all answers together."""
    if results.answers is None or not results.answers.by_chat:
        return {}
    spent = [item.spent for item in results.answers.strategies.values()]
    usd = (
        "unknown price"
        if any(item.usd is None for item in spent)
        else f"{sum(item.usd or 0 for item in spent):.4f} USD"
    )
    calls, tokens_in, tokens_out = (
        sum(getattr(item, name) for item in spent) for name in ("calls", "input_tokens", "output_tokens")
    )
    return {"cost of answers": f"{calls:,} calls, {tokens_in:,} tokens in, {tokens_out:,} out, {usd}"}


def _table(table: Table, against: str) -> Iterator[str]:
    title = escaped(table.title)
    yield f'<h3>{title}</h3><div class="wide" tabindex="0" role="region" aria-label="{title}"><table><thead><tr>'
    yield "".join(f'<th scope="col">{escaped(name.strip())}</th>' for name in table.head)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = "".join(f"<td{' class=noise' if _is_noise(cell) else ''}>{escaped(cell)}</td>" for cell in row[1:])
        base = ' class="base"' if row[0] == against else ""
        yield f'<tr{base}><th scope="row"><bdi>{escaped(row[0])}</bdi></th>{cells}</tr>'
    yield "</tbody></table></div>"


def _is_noise(cell: str) -> bool:
    return cell == "noise" or cell.endswith(")")


def _plots(results: Results, title: str) -> Iterator[str]:
    names = list(results.report.strategies)
    if title == "Retrieval":
        yield _figure(_recall_by_k(results), "Recall by the number of passages.")
        yield _figure(plot(results), f"{MEASURE} by the time of a search.")
        if len(names) > 1:
            yield from _differences(
                results, {MEASURE: {name: minus for name in names if (minus := _minus(results, name))}}
            )
    elif title == "By kind of question":
        yield from _groups(results)
    for item in results.sections:
        if title == item.section.title or (title == "Answers" and item.section.title.startswith("answers (")):
            found = {
                measure: {name: one.difference for name, one in items.items() if one.difference is not None}
                for measure, items in item.found.items()
            }
            yield from _differences(results, found)


def _figure(svg: str, caption: str) -> str:
    words = f"<figcaption>{escaped(caption)}</figcaption>" if caption else ""
    return f'<figure tabindex="0">{svg}{words}</figure>'


def _recall_by_k(results: Results) -> str:
    found = list(results.report.strategies.items())[:_MOST_SERIES]
    series = [Series(name, tuple(Point(k, 100 * result.scores.recall[k]) for k in CUTOFFS)) for name, result in found]
    return chart(
        series, "recall by number of passages", x=Axis("passages (k)", is_log=True), y=Axis("recall@k, per cent")
    )


def _differences(results: Results, found: Mapping[str, Mapping[str, Difference]]) -> Iterator[str]:
    """One plot of the differences from ``against``, a column a measure."""
    rows = [name for name in results.report.strategies if any(name in items for items in found.values())]
    if not rows:
        return
    columns = [
        Column(measure, tuple(_interval(items.get(name)) for name in rows)) for measure, items in found.items() if items
    ]
    title = f"minus {results.against}, in points, with the 95 % interval; hollow: the interval contains 0"
    yield _figure(forest(rows, columns, title=title, is_difference=True), title)


def _interval(found: Difference | None) -> Interval | None:
    return None if found is None else Interval(100 * found.mean, 100 * found.low, 100 * found.high)


def _groups(results: Results) -> Iterator[str]:
    for part in grouped_parts(results):
        names = list(part.values)  # a run of another system has no answers
        for view, groups in groupings(part.questions).items():
            found = by_group(part.values, groups, against=results.against)
            columns = [
                Column(f"{key} ({len(groups[key])})", tuple(_own(found[key][name].own) for name in names))
                for key in groups
            ]
            title = f"{part.measure} by {view}, per cent, with the 95 % interval"
            yield _figure(forest(names, columns, title=title), title)


def _own(found: Interval | None) -> Interval | None:
    return None if found is None else Interval(*(100 * value for value in found))


def _losses(results: Results, lost: Mapping[str, Sequence[Loss]]) -> Iterator[str]:
    against = results.against
    yield (
        f"<p>The questions on which a strategy loses most against <bdi>{escaped(against)}</bdi>, by {MEASURE}. "
        "<mark>Marked</mark> passages support the answer.</p>"
    )
    for name, items in lost.items():
        yield f"<details><summary><bdi>{escaped(name)}</bdi>: {len(items)} questions</summary>"
        for item in items:
            yield from _loss(results, name, item)
        yield "</details>"


def _loss(results: Results, name: str, item: Loss) -> Iterator[str]:
    question = item.question
    golds = "; ".join(sorted(_title(results, key) for key in question.gold))
    yield f'<section class="loss"><p><strong><bdi>{escaped(question.text or question.id)}</bdi></strong></p>'
    answers = f"; answer: {' or '.join(question.answers)}" if question.answers else ""
    yield f'<p class="soft"><bdi>{escaped(f"{question.id}: {100 * item.difference:+.0f} points; gold: {golds}{answers}")}</bdi></p>'
    yield '<div class="pair">'
    for who, outcome in ((name, item.own), (results.against, item.other)):
        shown = f"{_found(results, outcome, question.gold)}{_answer(results, who, question.id)}"
        yield f"<div><p><bdi>{escaped(who)}</bdi></p>{shown}</div>"
    yield "</div></section>"


def _found(results: Results, outcome: Outcome, gold: frozenset[str]) -> str:
    if outcome.error:
        return f"<p><bdi>{escaped(outcome.error)}</bdi></p>"
    names = ((key, f'<bdi title="{escaped(key)}">{escaped(_title(results, key))}</bdi>') for key in outcome.ids[:SHOWN])
    items = "".join(f"<li>{f'<mark>{title}</mark>' if key in gold else title}</li>" for key, title in names)
    return f"<ol>{items}</ol>" if items else "<p>nothing found</p>"


def _answer(results: Results, strategy: str, question: str) -> str:
    if results.answers is None or strategy not in results.answers.strategies:
        return ""
    outcomes: Sequence[AnswerOutcome] = results.answers.strategies[strategy].outcomes
    found = next((item for item in outcomes if item.question_id == question), None)
    return "" if found is None else f'<p class="soft">answered: <bdi>{escaped(found.short or "nothing")}</bdi></p>'


def _title(results: Results, key: str) -> str:
    return results.titles.get(key) or key
