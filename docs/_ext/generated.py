"""Lists of the pages that are generated, so that none is typed by hand: ``make lists`` writes them, and a test compares them.

A list stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; :data:`LISTS` names the functions that give their Markdown.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import hlgraph
from hlgraph import errors, settings
from hlgraph.stores import migrate, queries

_SHAPES = Path(__file__).parents[2] / "tests" / "data" / "cli" / "json"
PAGES = Path(__file__).parents[1]
_NOTEBOOKS = PAGES.parent / "notebooks"
OF_PAPERS = ("statement", "statement_graph", "topic", "topic_graph", "path", "local", "global", "diameter", "hierarchy")
"""The strategies whose parameters the pages about the papers list."""
_LIST = re.compile(r"^<!-- generated: ([\w-]+) -->\n(?:.*?\n)??<!-- end -->$", re.MULTILINE | re.DOTALL)
_SAFE = str.maketrans({"|": "\\|", "<": "&lt;", "*": "\\*", "$": "\\$"})


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _fenced(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.strip()}\n```\n"


# The command line


def _help(*path: str) -> str:
    from hlgraph.cli import main

    out = io.StringIO()
    plain = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    with mock.patch.dict(os.environ, plain), contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*path, "--help"])
    return out.getvalue()


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, each in getattr(command, "commands", {}).items():
        yield (*path, name), each
        yield from _commands(each, (*path, name))


def _all_commands() -> list[tuple[tuple[str, ...], Any]]:
    import typer

    from hlgraph.cli.app import app

    return list(_commands(typer.main.get_command(app)))


def _folded(tree: object, indent: str = "") -> str:
    """JSON in few lines: what fits on a line is on one."""
    flat = json.dumps(tree)
    if len(indent) + len(flat) <= 96 or not isinstance(tree, dict | list):
        return flat
    inner = f"{indent}  "
    if isinstance(tree, list):
        lines = [_folded(each, inner) for each in tree]
    else:
        lines = [f"{json.dumps(key)}: {_folded(value, inner)}" for key, value in tree.items()]
    begin, end = "[]" if isinstance(tree, list) else "{}"
    return f"{begin}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{end}"


def _shapes() -> dict[str, list[str]]:
    """What each command prints with ``--json``, by its name with dashes: the shapes that a test compares it with."""
    names = {"-".join(path) for path, _ in _all_commands()}
    found: dict[str, list[str]] = {}
    for file in sorted(_SHAPES.glob("*.json")):
        words = file.stem.split("-")
        name = next((each for at in range(len(words), 0, -1) if (each := "-".join(words[:at])) in names), file.stem)
        found.setdefault(name, []).append(_folded(json.loads(file.read_text(encoding="utf-8"))))
    return found


def json_of_errors() -> str:
    """What an error is with ``--json``."""
    return _fenced(_shapes()["error"][0], "json")


def cli() -> str:
    """The commands with their first line of help, then the whole help of each."""
    found, shapes = _all_commands(), _shapes()
    rows = [
        (
            f"[`{' '.join(path)}`](#hlgraph-{'-'.join(path)})",
            re.sub(r"(--[a-z-]+)", r"`\1`", (each.help or "").split("\n")[0].translate(_SAFE)),
        )
        for path, each in found
    ]
    parts = [_table(("command", "what it does"), rows), "### hlgraph\n", _fenced(_help())]
    for path, _ in found:
        parts += [f"### hlgraph {' '.join(path)}\n", _fenced(_help(*path))]
        for shape in shapes.get("-".join(path), []):
            parts += ["With `--json`:\n", _fenced(shape, "json")]
    return "\n".join(parts)


def exit_codes() -> str:
    """The exit codes, as the help of the command says them."""
    text = _help().split("Exit codes:\n")[1].split("\n\n")[0]
    rows = [re.sub(r"\s+", " ", row).strip() for row in re.split(r"\n(?=\s+\d+\s)", f"\n{text}") if row.strip()]
    return _table(("code", "meaning"), [(f"`{row.split(' ')[0]}`", row.partition(" ")[2]) for row in rows])


# Errors


def _kinds(kind: type[errors.HLGraphError]) -> Iterator[type[errors.HLGraphError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from _kinds(each)


def error_tree() -> str:
    """The tree of errors, as the module draws it."""
    return _fenced(inspect.cleandoc((errors.__doc__ or "").split("::\n")[1].split("\n\nEach")[0]))


def error_kinds() -> str:
    """Every error with what it means, whether trying again may help, and the exit code of a command that ends with it."""
    from hlgraph.cli.app import exit_code

    rows = [
        (
            f"`{kind.__name__}`",
            (inspect.getdoc(kind) or "").split("\n")[0].replace("``", "`"),
            "yes" if kind.retryable else "no",
            str(exit_code(kind.__new__(kind))),
        )
        for kind in _kinds(errors.HLGraphError)
    ]
    return _table(("error", "meaning", "`retryable`", "exit code"), rows)


# Settings


# A value other than the default, for variables that take some words only.
_CHOSEN = {"RUNTIME": "openvino", "RANKING": "server", "AUTH": "none"}


def _variables() -> dict[str, str]:
    """The environment variables by the key that each one sets: each is tried."""
    names = set(re.findall(r"HLGRAPH_[A-Z0-9]+(?:_[A-Z0-9]+)*", inspect.getsource(settings)))
    parts = ("NEO4J", "OPENSEARCH")
    names |= {f"HLGRAPH_{part}_{key.upper()}" for part in parts for key in _flat(settings.Settings())}
    found = {}
    for name in sorted(names):
        value = next((told for end, told in _CHOSEN.items() if name.endswith(end)), "es")
        given = {name: value, "HLGRAPH_OPENSEARCH_REGION": "r"}
        if name == "HLGRAPH_CONFIG":
            continue
        before = _flat(settings.load(environment={"HLGRAPH_OPENSEARCH_REGION": "r"}), "")
        after = _flat(settings.load(environment=given | ({name: "s"} if name.endswith("REGION") else {})), "")
        found.update({key: name for key, value in after.items() if value != before[key]})
    return found


def _flat(values: object, prefix: str | None = None) -> dict[str, object]:
    """The values of all keys, as ``models.chat``; without a prefix only the last part of each key."""
    found: dict[str, object] = {}
    for item in dataclasses.fields(values):  # type: ignore[arg-type]
        value = getattr(values, item.name)
        if dataclasses.is_dataclass(value):
            found |= _flat(value, None if prefix is None else f"{prefix}{item.name}.")
        else:
            found[item.name if prefix is None else f"{prefix}{item.name}"] = value
    return found


def _shown(value: object) -> str:
    return "none" if value is None else f"`{json.dumps(value)}`"


def setting_tables() -> str:
    """Every part of the settings: what its docstring says, and a table of its keys."""
    variables, parts = _variables(), []
    whole = settings.Settings()
    for name, made in (("", whole), *((item.name, getattr(whole, item.name)) for item in dataclasses.fields(whole))):
        if not dataclasses.is_dataclass(made):
            continue
        rows = []
        for item in dataclasses.fields(made):
            key = f"{name}.{item.name}" if name else item.name
            value = getattr(made, item.name)
            if not dataclasses.is_dataclass(value):
                variable = f"`{variables[key]}`" if key in variables else ""
                rows.append((f"`{key}`", f"`{item.type}`".replace("|", "\\|"), _shown(value), variable))
        about, _, attributes = (inspect.getdoc(made) or "").partition("\n\nAttributes\n----------\n")
        meanings = re.sub(r"\n {4,}", " ", attributes)
        listed = re.sub(r"^(\w+) : ", r"- `\1`: ", meanings, flags=re.MULTILINE)
        title = f"## `{name}`" if name else "## Top level"
        parts += [title, about.replace("``", "`"), _table(("key", "type", "default", "variable"), rows)]
        parts.append(listed.replace("``", "`"))
    return "\n\n".join(part for part in parts if part)


# Stores


def migrations() -> str:
    """The migrations of every store, with what the file says about itself."""
    rows = []
    for kind in migrate.EXTENSIONS:
        for item in migrate.discover(kind):
            first = item.text.lstrip()
            about = str(json.loads(first)["about"]) if first.startswith("{") else first.split("\n")[0].lstrip("-/ ")
            rows.append((kind, f"`{item.label}`", about.translate(_SAFE)))
    return _table(("store", "migration", "about"), rows)


def opensearch_fields() -> str:
    """The fields of the two kinds of index, from the migration that makes them."""
    tree = json.loads(migrate.discover("opensearch")[-1].text)
    rows = []
    for index in ("rows", "sources"):
        for field, body in tree[index]["mappings"]["properties"].items():
            more = [f"{key}: {value}" for key, value in body.items() if isinstance(value, str) and key != "type"]
            rows.append((index, f"`{field}`", f"`{body.get('type', 'object')}`", ", ".join(more).translate(_SAFE)))
    return _table(("index", "field", "type", "more"), rows)


def cypher_library() -> str:
    """Every query of the library by stage: what it does, its parameters, its columns."""
    parts = []
    for stage in queries.STAGES:
        parts.append(f"## {stage}\n")
        for name, query in queries.load_all().items():
            if not name.startswith(f"{stage}/"):
                continue
            facts = [
                ("parameters", ", ".join(f"`{each}`" for each in sorted(query.params))),
                ("columns", ", ".join(f"`{each}`" for each in query.columns)),
            ]
            lines = [f"- {label}: {value or 'none'}" for label, value in facts]
            if query.parameters:
                lines[0] = "- parameters:"
                described = (f"  - `{each.name}` ({each.shape}): {each.meaning}" for each in query.parameters)
                lines[1:1] = [line.translate(_SAFE) for line in described]
            if query.example:
                lines.append(f"- example: `{query.example}`")
            parts += [f"### {name}\n", f"{query.summary.translate(_SAFE)}\n", *lines, ""]
    return "\n".join(parts)


# The SDK


_ROLE = re.compile(r":\w+:`[~.]?([^`]+)`")
_SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")


def _prose(text: str) -> str:
    return _ROLE.sub(r"`\1`", text).replace("``", "`").replace("::", ":")


def _described(doc: str) -> str:
    """A docstring as Markdown: its sections as lists, its examples as blocks."""
    before, *sections = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    parts = [_blocks(before)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title in _SECTIONS:
            items = re.split(r"\n(?=\S)", body.strip())
            parts.append(f"{title}:\n\n" + "".join(map(_item, items)))
        else:
            parts.append(f"{title}:\n\n{_blocks(body)}")
    return "\n".join(parts)


def _item(text: str) -> str:
    name, _, meaning = text.partition(" : ") if re.match(r"[\w, *]+ : ", text) else text.partition("\n")
    said = " ".join(_prose(meaning).split())
    if not re.fullmatch(r"[\w, *.|\[\]]+", name) or (not said and name.endswith(".")):
        return f"- {_prose(name)} {said}".rstrip() + "\n"
    return f"- `{name}`: {said}\n" if said else f"- `{name}`\n"


def _blocks(text: str) -> str:
    """Paragraphs; what is indented or begins with a prompt is a block of code."""
    parts = []
    for paragraph in re.split(r"\n{2,}(?=\S)", text.strip()):
        if paragraph.startswith(">>> "):
            words, code = "", [paragraph]
        elif re.match(r"[-\d]", paragraph):  # a list
            words, code = paragraph, []
        else:
            words, *code = re.split(r"\n+(?= )", paragraph, maxsplit=1)
        if words.strip(": \n"):
            parts.append(f"{_prose(words)}\n")
        parts += [_fenced(inspect.cleandoc(f"\n{each}")) for each in code]
    return "\n".join(parts)


def _plain(signature: inspect.Signature | inspect.Parameter) -> str:
    """Types without quotes, functions by their names."""
    # Before Python 3.14 types of a NamedTuple are references, and a union of typing is written in another way.
    text = re.sub(r"ForwardRef\(('[^']*')\)", r"\1", str(signature))
    text = re.sub(r"Optional\[(Literal\[[^]]*\])\]", r"\1 | None", text)
    return re.sub(r"<function (\w+) at \w+>", r"\1", re.sub(r": '([^']*)'|-> '([^']*)'", _unquoted, text))


def _unquoted(found: re.Match[str]) -> str:
    return f": {found[1]}" if found[1] else f"-> {found[2]}"


def _signature(name: str, value: Any) -> str:
    """The call with its parameters, without those that begin with an underscore, a parameter on each line if it is long."""
    made = inspect.signature(value)
    kept = [each for key, each in made.parameters.items() if key != "self" and not key.startswith("_")]
    plain = _plain(made.replace(parameters=kept))
    if len(name) + len(plain) <= 96 or not kept:
        return _fenced(f"{name}{plain}")
    result = plain[plain.rindex(")") + 1 :]
    starred = next((each for each in kept if each.kind is each.KEYWORD_ONLY), None)
    lines = [line for each in kept for line in ([*(["*"] if each is starred else []), _plain(each)])]
    return _fenced(f"{name}(\n" + "".join(f"    {line},\n" for line in lines) + f"){result}")


def _callable(level: int, name: str, value: Any) -> str:
    title = f"{'#' * level} {name}\n"
    return "\n".join([title, _signature(name.rpartition(".")[2], value), _described(inspect.getdoc(value) or "")])


def _class(kind: type, owner: str = "", level: int = 4) -> str:
    """What a class is, how it is made, and its public methods and properties in the order of the source."""
    parts = [_described(inspect.getdoc(kind) or "")]
    is_made = kind.__module__.startswith("hlgraph") and not issubclass(kind, enum.Enum)
    if is_made and not owner:
        parts.insert(0, _signature(kind.__name__, kind))
    plain = []
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property | functools.cached_property):
            plain.append(
                f"- `.{name}`: {_prose(' '.join((inspect.getdoc(member) or '').split(chr(10) * 2)[0].split()))}\n"
            )
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            parts.append(_callable(level, f"{owner or kind.__name__}.{name}", getattr(kind, name)))
    if plain:
        parts.insert(len(parts) and 1 + (is_made and not owner), "Properties:\n\n" + "".join(plain))
    return "\n".join(part for part in parts if part.strip())


def sdk_client() -> str:
    """How a store is opened, and what an open one does."""
    return "\n".join(
        [_callable(2, "hlgraph.connect", hlgraph.connect), "## HLGraph\n", _class(hlgraph.HLGraph, level=3)]
    )


def _parts() -> dict[str, str]:
    """The classes that properties of HLGraph give, by the name of the property."""
    found = inspect.getmembers(hlgraph.HLGraph, lambda member: isinstance(member, property))
    kinds = {name: str(each.fget.__annotations__["return"]) for name, each in found}
    return {name: kind for name, kind in kinds.items() if kind in hlgraph.__all__}


def sdk_parts() -> str:
    """The parts of HLGraph: what its properties give."""
    parts = []
    for name, kind in _parts().items():
        about = inspect.getdoc(getattr(hlgraph.HLGraph, name)) or ""
        parts += [f"### graph.{name}\n", _described(about), _class(getattr(hlgraph, kind), f"graph.{name}")]
    return "\n".join(parts)


def sdk_names() -> str:
    """What else ``import hlgraph`` offers: classes and functions, each with its documentation; then names for types."""
    known = {"HLGraph", "connect", "HLGraphError", *_parts().values()}
    parts, types = [], []
    for name in hlgraph.__all__:
        value = getattr(hlgraph, name)
        if name in known or name.startswith("_") or inspect.ismodule(value):
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            parts += [f"### {name}\n", _class(value)] if inspect.isclass(value) else [_callable(3, name, value)]
        else:
            shown = re.sub(r"\b(?:typing|collections\.abc|hlgraph(?:\.\w+)*)\.|(?<=pathlib\.)_local\.", "", str(value))
            types.append((f"`{name}`", f"`{shown}`".replace("|", "\\|")))
    return "\n".join([*parts, "### Names for types\n", _table(("name", "type"), types)])


def notebooks() -> str:
    """The contents of the folder of notebooks."""
    names = sorted(path.stem for path in _NOTEBOOKS.glob("*.ipynb"))
    listed = "\n".join(f"notebooks/{name}" for name in names)
    return f"```{{toctree}}\n:caption: Notebooks\n:hidden:\n\n{listed}\n```" if names else ""


def strategies() -> str:
    """Every strategy by name, with the first line of its documentation."""
    from hlgraph.retrieve import STRATEGIES

    rows = [
        (f"`{name}`", (inspect.getdoc(made) or "").split("\n")[0].replace("``", "`").translate(_SAFE))
        for name, made in STRATEGIES.items()
    ]
    return _table(("`--strategy`", "what it is"), rows)


def parameters(name: str) -> str:
    """The parameters of a strategy: their values in the presets that it has, and what its docstring says about each."""
    from hlgraph.retrieve import STRATEGIES

    made = STRATEGIES[name]
    presets = {"paper": {}, **getattr(made, "presets", {})}
    plain = made()
    rows = []
    for item in dataclasses.fields(plain):
        values = [given.get(item.name, getattr(plain, item.name)) for given in presets.values()]
        shown = [f"`{str(value).lower() if isinstance(value, bool | None) else value}`" for value in values]
        rows.append((f"`{item.name}`", shown[0], *(text if text != shown[0] else "" for text in shown[1:])))
    attributes = (inspect.getdoc(made) or "").partition("\n\nAttributes\n----------\n")[2].partition("\n\n")[0]
    listed = re.sub(r"\n {4,}", " ", attributes)
    listed = re.sub(r"^([\w, ]+?) : ", lambda found: f"- {_coded(found[1])}: ", listed, flags=re.MULTILINE)
    listed = re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", listed).replace("``", "`")
    return f"{_table(('parameter', *presets), rows)}\n{listed}\n"


def _coded(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


LISTS: dict[str, Callable[[], str]] = {
    "cli": cli,
    "json-of-errors": json_of_errors,
    "exit-codes": exit_codes,
    "error-tree": error_tree,
    "error-kinds": error_kinds,
    "settings": setting_tables,
    "migrations": migrations,
    "opensearch-fields": opensearch_fields,
    "cypher-library": cypher_library,
    "sdk-client": sdk_client,
    "sdk-names": sdk_names,
    "sdk-parts": sdk_parts,
    "notebooks": notebooks,
    "strategies": strategies,
    **{f"parameters-{name}": functools.partial(parameters, name) for name in OF_PAPERS},
}
"""The lists by the name that a page gives."""


def filled(text: str) -> str:
    """The text of a page with its lists as they are now."""
    return _LIST.sub(
        lambda found: f"<!-- generated: {found[1]} -->\n\n{LISTS[found[1]]().strip()}\n\n<!-- end -->", text
    )


def pages() -> dict[Path, str]:
    """The pages that have lists, with their texts."""
    texts = {
        path: path.read_text(encoding="utf-8") for path in sorted(PAGES.rglob("*.md")) if "_build" not in path.parts
    }
    return {path: text for path, text in texts.items() if _LIST.search(text)}


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(filled(text), encoding="utf-8")
