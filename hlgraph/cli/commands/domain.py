"""The commands ``hlgraph domain``: the entity kinds and topics that prompts of a chat model name for a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, argument, command, group, read_file
from hlgraph.cli.commands.ingest import existing
from hlgraph.cli.output import domain_tree, usage_tree

if TYPE_CHECKING:
    from hlgraph.records import Domain

PLACE = 120  # position in the list of commands

app = group("domain", "Show and change the domain of a corpus: the entity kinds and topics that prompts name.")
_AGAIN = "the next ingest with a chat model extracts every source that it reads again; to see the cost: hlgraph plan"


@command(app, "show", "corpus")
def show(cli: Invocation) -> None:
    """Print the entity kinds and topics that the prompts name, as YAML that domain set accepts.

    \b
    Examples:
      hlgraph domain show
      hlgraph domain show > domain.yaml
    """
    with cli.connect() as graph:
        domain = graph.domain.find()
    none = "# no domain; next: hlgraph domain infer, hlgraph domain set FILE, or hlgraph ingest --extract chat --adapt"
    cli.show({"domain": domain_tree(domain)}, [none] if domain is None else _lines(domain))


@command(app, "infer", "corpus", "reading", "budget", "wait")
def infer(
    cli: Invocation,
    paths: Annotated[
        list[str] | None,
        argument("PATH", "Sources, as for ingest (default: the sources in the corpus).", callback=existing),
    ] = None,
) -> None:
    """Infer the domain of the corpus with one chat call on five chunks, and replace the stored domain.

    The five chunks are those whose texts have the smallest hashes, so the same texts always give the same chunks.

    \b
    Examples:
      hlgraph domain infer docs/
      hlgraph domain infer --corpus news
    """
    options = cli.ingest_options()
    with cli.connect() as graph:
        inferred = graph.domain.infer(paths or (), options=options, budget=cli.budget)
    samples = [{"uri": uri, "position": position} for uri, position in inferred.samples]
    tree = {"domain": domain_tree(inferred.domain), "samples": samples, "is_changed": inferred.is_changed}
    lines = [*_lines(inferred.domain), *(f"# from chunk {position} of {uri}" for uri, position in inferred.samples)]
    cli.show({**tree, **usage_tree(inferred.usage)}, [*lines, f"# {_AGAIN if inferred.is_changed else 'unchanged'}"])


@command(app, "set", "corpus", "wait")
def set_domain(
    cli: Invocation, file: Annotated[str, argument("FILE", "A YAML or JSON file, or - for standard input.")]
) -> None:
    """Replace the stored domain with one that you wrote; no model is called.

    The file holds {kinds: [drug, side effect], topics: [safety of patients]}: at most 15 kinds and 20 topics. One of the
    two lists may be omitted.

    \b
    Examples:
      hlgraph domain set domain.yaml
      hlgraph domain set domain.json --corpus news
    """
    from hlgraph.sdk.domain import parsed

    new = parsed(read_file(file, "the domain", "YAML or JSON"), file)
    with cli.connect() as graph:
        domain = graph.domain.set(new)
    line = f"stored {len(domain.kinds)} kinds and {len(domain.topics)} topics"
    cli.show({"domain": domain_tree(domain)}, [line, _AGAIN])


@command(app, "clear", "corpus", "wait")
def clear(cli: Invocation) -> None:
    """Remove the stored domain; prompts then name no kinds and topics.

    \b
    Example:
      hlgraph domain clear
    """
    with cli.connect() as graph:
        removed = graph.domain.clear()
    lines = ["there was no domain"] if removed is None else ["removed the domain", _AGAIN]
    cli.show({"removed": domain_tree(removed)}, lines)


def _lines(domain: Domain) -> list[str]:
    import yaml

    lists = {"kinds": list(domain.kinds), "topics": list(domain.topics)}
    text = yaml.safe_dump({name: names for name, names in lists.items() if names}, allow_unicode=True, sort_keys=False)
    return [f"# by {domain.made_by or 'hand'}", *text.splitlines()]
