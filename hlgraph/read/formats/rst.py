"""Reader of reStructuredText with docutils. Nothing is included, run or resolved: directives and roles of other programs, such
as Sphinx, give their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from hlgraph.errors import needs_extra
from hlgraph.read.bounds import Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, decode
from hlgraph.read.formats._blocks import Unread, code, document_of, heading, item, lowered, raised
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from docutils.nodes import Element, Node, document

_LONGEST = 200_000  # characters without a blank line: the time for inline markup grows with their square
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}")
_NO_TITLE = re.compile(r"\s|[-*+|] |\.\. |:\w|>>>|__ |[!-/:-@\[-`{-~]{3,}\s*$")
_REPLACED = re.compile(r"^\s*\.\. \|([^|\n]+)\| +replace:: *(.*)$", re.MULTILINE)
_NOTE = re.compile(r"^\.\. \[(\d+|#[\w.:+-]*|\*)\] ", re.MULTILINE)
_REFERENCE = "\x1f"  # before the mark of a note, which docutils sets apart from the sentence that it belongs to
_SPACE_BEFORE = re.compile(rf"(?<=[.!?…”\"])\s+(?={_REFERENCE})")
_TARGET = re.compile(r"\s*<[^<>]*>\s*$")
_OPTION = re.compile(r":[\w-]+:(?:\s|$)")
_DIRECTIVE = re.compile(r"\.\.\s+([\w:.+-]+)\s*::\s*(.*)", re.DOTALL)
_NO_TEXT = (
    "toctree",
    "index",
    "highlight",
    "currentmodule",
    "module",
    "literalinclude",
    "include",
    "raw",
    "csv-table",
    "tabularcolumns",
)
_CODE = (
    "prompt",
    "testcode",
    "testoutput",
    "testsetup",
    "ipython",
    "plot",
    "productionlist",
    "graphviz",
    "mermaid",
    "jupyter-execute",
)


def read_rst(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a file: sections, lists, tables, code and notes as Markdown; the fields at its beginning are metadata.

    Parameters
    ----------
    origin : the file; its stem is the title if it has no section, or only sections below its first text
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    MissingExtraError
        docutils is not installed.
    ReadError
        It is not text, has more than 200,000 characters without a blank line, or holds no text.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    if any(len(part) > _LONGEST for part in text.split("\n\n")):
        raise refused(origin, "characters without a blank line", limit=_LONGEST)
    produced = Produced(origin, len(data), options.max_bytes)
    named = {match[1]: match[2].strip() for match in _REPLACED.finditer(text)}
    walk = _Walk(produced, named=named, notes=_notes(text))
    blocks: list[str] = []
    fields: dict[str, MetadataValue] = {}
    parse = _parser()
    tops: list[str] = []
    for level, part in _sections(text):
        tree = parse(part)
        fields |= walk.fields(tree) if not any(block for block in blocks if not block.startswith("# ")) else {}
        first, *rest = [*walk.blocks(tree), ""]
        tops += [first] if level == 1 else []
        blocks += [heading(first, level) if level else first, *rest]
    blocks = [*filter(None, blocks)]
    has_parts = len(tops) == 1 and any(block.startswith("## ") for block in blocks)
    is_titled = tops and (has_parts or blocks[0].startswith("# "))  # else its sections stand below its first text
    blocks = blocks or [f"{name}: {value}" for name, value in fields.items()]
    title = tops[0] if is_titled else str(fields.pop("title", ""))
    metadata: dict[str, MetadataValue] = {**fields}
    warnings = (*warnings, *walk.unread.warnings())
    return document_of(produced, blocks, title=clean_title(title), metadata=metadata, warnings=warnings)


def _notes(text: str) -> dict[str, list[str]]:
    """The marks of automatic footnotes by what refers to them: ``#`` or ``*`` in order of the notes, or the label of one.

    References
    ----------
    docutils, "reStructuredText Markup Specification", "Auto-Numbered Footnotes", "Auto-Symbol Footnotes".
    """
    names = _NOTE.findall(text)
    used = {name for name in names if name.isdecimal()}
    numbers = (number for number in map(str, count(1)) if number not in used)
    symbols = (symbol * times for times in count(1) for symbol in "*†‡§¶#♠♥♦♣")
    marks: dict[str, list[str]] = {}
    for name in names:
        if not name.isdecimal():
            marks.setdefault(name, []).append(next(symbols if name == "*" else numbers))
    return marks


def _sections(text: str) -> Iterator[tuple[int, str]]:
    """The level of each section, and its title and text as paragraphs; level 0 before the first title.

    docutils would copy the rest of the file for each section, which takes the square of their number.
    """
    lines = text.split("\n")
    styles: list[str] = []
    part: list[str] = []
    level = at = 0
    while at < len(lines):
        over = _ADORNMENT.fullmatch(lines[at].rstrip()) if at + 2 < len(lines) else None
        is_over = over is not None and lines[at + 1].strip() != "" and lines[at + 2].rstrip() == over[0]
        title = lines[at + 1].strip() if is_over else lines[at]
        under = _ADORNMENT.fullmatch(lines[at + 1].rstrip()) if at + 1 < len(lines) else None
        is_under = (
            under is not None
            and title.strip() != ""
            and not _NO_TITLE.match(title)
            and len(under[0]) >= min(4, len(title))
        )
        if (is_over or is_under) and (not part or not part[-1].strip()):
            mark = lines[at][0] * 2 if is_over else lines[at + 1][0]
            if level or any(line.strip() for line in part):
                yield level, "\n".join(part)
            if mark not in styles:
                styles.append(mark)
            level = styles.index(mark) + 1
            part = [title.strip(), ""]
            at += 3 if is_over else 2
        else:
            part.append(lines[at])
            at += 1
    yield level, "\n".join(part)


def _parser() -> Callable[[str], document]:
    """A function that parses text, without the transforms that number, include or replace."""
    with needs_extra("rst", "reading reStructuredText"):
        from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.report_level, settings.halt_level, settings.warning_stream = 5, 6, False
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.syntax_highlight, settings.line_length_limit = "none", _LONGEST
    inliner, states = _lenient()

    def parse(text: str) -> document:
        inliner.implicit_dispatch = []  # each parser adds its own
        parser = Parser(inliner=inliner)
        parser.state_classes = states
        tree = new_document("", settings)
        parser.parse(text, tree)
        return tree

    return parse


def _lenient() -> tuple[Any, Any]:
    """An inliner that keeps the text of unknown roles, and states that keep the content of unknown directives."""
    from docutils import nodes
    from docutils.parsers.rst import roles, states

    inliner = states.Inliner()
    known = inliner.interpreted

    def interpreted(rawsource: str, text: str, role: str, lineno: int) -> Any:
        if roles.role(role, inliner.language, lineno, inliner.reporter)[0] is not None:
            return known(rawsource, text, role, lineno)
        return [nodes.inline(rawsource, _TARGET.sub("", nodes.unescape(text)).lstrip("~!"))], []

    inliner.interpreted = interpreted

    class Lenient:
        def __init__(self, state_machine: Any, debug: bool = False) -> None:
            super().__init__(state_machine, debug)  # type: ignore[call-arg]
            self.nested_sm_kwargs = {"state_classes": classes, "initial_state": "Body"}

        def unknown_directive(self, type_name: str) -> Any:
            machine: Any = self.state_machine  # type: ignore[attr-defined]
            lines, _, offset, is_blank = machine.get_first_known_indented(0, strip_indent=False)
            first = _DIRECTIVE.fullmatch(lines[0].strip())
            body = lines[1:]
            body.disconnect()
            indents = [len(line) - len(line.lstrip()) for line in body if line.strip()]
            body.trim_left(min(indents, default=0))
            while body and _OPTION.match(body[0]):
                body.trim_start()
            node = nodes.container("", classes=[type_name])
            node["argument"] = first[2] if first else ""
            if type_name in _CODE:
                node += nodes.literal_block("", "\n".join(body))
            elif type_name not in _NO_TEXT:
                self.nested_parse(body, offset + 1, node)  # type: ignore[attr-defined]
            return [node], is_blank

    classes = tuple(type(state.__name__, (Lenient, state), {}) for state in states.state_classes)
    return inliner, classes


class _Walk:
    """Turns the tree of docutils into blocks of Markdown.

    Attributes
    ----------
    unread : what was left out
    """

    def __init__(self, produced: Produced, *, named: dict[str, str], notes: dict[str, list[str]]) -> None:
        self.unread = Unread()
        self._produced = produced
        self._depth = 0
        self._named = named
        self._marks = notes
        self._references = {name: iter(marks) for name, marks in notes.items() if name in "#*"}
        self._notes = {name: iter(marks) for name, marks in notes.items() if name in "#*"}

    def fields(self, tree: document) -> dict[str, MetadataValue]:
        """The fields before the first section or paragraph, which are taken out of the tree."""
        values: dict[str, list[str]] = {}
        for node in list(tree.children):
            if node.tagname == "field_list":
                for field in node.children:
                    name, value = (clean(self.line(each)) for each in field.children[:2])
                    values.setdefault(name.lower(), []).append(value)
                tree.children.remove(node)
            elif node.tagname not in ("comment", "target", "substitution_definition") and node is not tree.children[0]:
                break
        return {name: tuple(each) if len(each) > 1 else each[0] for name, each in values.items() if name}

    def blocks(self, parent: Node) -> Iterator[str]:
        """The blocks of the children of a node."""
        for node in parent.children:
            yield from self._block(node)

    def _block(self, node: Node) -> Iterator[str]:
        own = _BLOCKS.get(node.tagname)
        if own is not None:
            yield from own(self, node)
        elif node.tagname in _ADMONITIONS:
            first, *rest = [*filter(None, self.blocks(node)), ""]
            yield f"{node.tagname.capitalize()}: {first}"
            yield from rest
        elif not node.children or node.tagname in _LINES:
            yield self.line(node)
        else:
            yield from self.blocks(node)

    def line(self, node: Node) -> str:
        """The text of a node with inline markup, on one line."""
        text = "".join(self._inlines(node))
        return " ".join(_SPACE_BEFORE.sub("", text).replace(_REFERENCE, "").split())

    def _inlines(self, node: Node) -> Iterator[str]:
        kind = node.tagname
        if kind == "#text":
            yield node.astext()
        elif kind in ("literal", "math"):
            yield f"`{node.astext()}`" if kind == "literal" else f"${node.astext()}$"
        elif kind in ("footnote_reference", "citation_reference"):
            yield f"{_REFERENCE}[{self._mark(node, node.astext(), self._references)}]"
        elif kind == "substitution_reference":
            yield self._named.get(str(node.get("refname", "")), node.astext())
        elif kind in ("superscript", "subscript"):
            yield (raised if kind == "superscript" else lowered)(node.astext())
        elif kind == "image":
            yield self._image(node)
        elif kind not in ("target", "comment", "system_message") or (node.children and kind == "target"):
            for child in node.children:
                yield from self._inlines(child)

    def _mark(self, node: Node, shown: str, unnamed: dict[str, Iterator[str]]) -> str:
        """The mark of a footnote or of a reference to it."""
        kind = {1: "#", "*": "*"}.get(node.get("auto"), "")
        names = [str(node.get("refname") or ""), *map(str, node.get("names", []))]
        label = next((self._marks[f"#{name}"] for name in filter(None, names) if f"#{name}" in self._marks), [])
        return shown or (label[0] if label else next(unnamed.get(kind, iter(())), "")) or "#"

    def _image(self, node: Node) -> str:
        alt = str(node.get("alt", ""))
        if not alt:
            self.unread["image"] += 1
        return alt

    def list_(self, node: Element) -> Iterator[str]:
        start = int(node.get("start", 1))
        lines: list[str] = []
        for number, entry in enumerate(node.children, start):
            marker = f"{number}." if node.tagname == "enumerated_list" else "-"
            lines += self._item(marker, list(self._nested(entry)))
        yield "\n".join(lines)

    def _nested(self, entry: Node) -> Iterator[str]:
        self._depth += 1
        yield from filter(None, self.blocks(entry))
        self._depth -= 1

    def _item(self, marker: str, blocks: list[str]) -> Iterator[str]:
        first, *rest = blocks or [""]
        yield item(first, marker=marker, depth=self._depth) if "\n" not in first else first
        for block in rest:
            is_apart = block.startswith(("|", "```"))
            yield (
                f"\n{block}\n" if is_apart else block if block.startswith(" ") else f"{'  ' * (self._depth + 1)}{block}"
            )

    def definitions(self, node: Element) -> Iterator[str]:
        lines: list[str] = []
        for entry in node.children:
            terms = [
                self.line(child)
                for child in entry.children
                if child.tagname in ("term", "classifier", "option_group", "field_name")
            ]
            bodies = [child for child in entry.children if child.tagname in ("definition", "description", "field_body")]
            first, *rest = [*(block for body in bodies for block in self._nested(body)), ""]
            is_apart = first.startswith(("|", "```", " ")) or "\n" in first
            named = f"{', '.join(terms)}:"
            lines += self._item(
                "-",
                [named, first, *filter(None, rest)] if is_apart else [f"{named} {first}".strip(), *filter(None, rest)],
            )
        yield "\n".join(lines)

    def literal(self, node: Element) -> Iterator[str]:
        names = [name for name in node.get("classes", []) if name != "code"]
        yield code(node.astext(), names[0] if names else "")

    def lines(self, node: Element) -> Iterator[str]:
        yield "\n".join(
            "\n".join(self.lines(each)) if each.tagname == "line_block" else self.line(each) for each in node.children
        )

    def note(self, node: Element) -> Iterator[str]:
        """A footnote or citation, after its label."""
        label = self._mark(
            node, "".join(each.astext() for each in node.children if each.tagname == "label"), self._notes
        )
        blocks = [block for child in node.children if child.tagname != "label" for block in self._block(child)]
        yield f"[{label}] {' '.join(blocks)}"

    def table(self, node: Element) -> Iterator[str]:
        yield from (self.line(child) for child in node.children if child.tagname == "title")
        rows: list[list[Cell]] = []
        for group in (child for child in node.children if child.tagname == "tgroup"):
            for part in (child for child in group.children if child.tagname in ("thead", "tbody")):
                rows += [
                    [self._cell(entry, is_head=part.tagname == "thead") for entry in row.children]
                    for row in part.children
                ]
        yield Grid(rows, produced=self._produced).markdown()

    def _cell(self, entry: Element, *, is_head: bool) -> Cell:
        text = " ".join(" ".join(filter(None, self.blocks(entry))).split())
        return Cell(text, entry.get("morecols", 0) + 1, entry.get("morerows", 0) + 1, is_head=is_head)

    def container(self, node: Element) -> Iterator[str]:
        """The content of a directive of another program, after its argument."""
        name = (node.get("classes") or [""])[0]
        argument = " ".join(str(node.get("argument", "")).split())
        if name in _NO_TEXT:
            self.unread[f"directive {name}"] += 1
            return
        first, *rest = [*filter(None, self.blocks(node)), ""]
        if not argument:
            yield first
        elif name.startswith(("version", "deprecated")):
            yield f"{name} {argument}{f': {first}' if first else ''}"
        else:
            yield f"`{argument}`" if "(" in argument else argument
            yield first
        yield from rest

    def message(self, node: Element) -> Iterator[str]:
        """What docutils could not read: the text of the lines, if it kept them."""
        texts = [child for child in node.children if child.tagname == "literal_block"]
        said = node.children[0].astext() if node.children else ""
        if "directive disabled" in said or "Unknown directive" in said:
            self.unread[f"directive {said.split(chr(34))[1] if chr(34) in said else ''}"] += 1
        for text in texts:
            yield text.astext()

    def nothing(self, node: Element) -> Iterator[str]:
        if node.tagname in ("comment", "raw") and node.astext().strip():
            self.unread[node.tagname] += 1
        return iter(())


_ADMONITIONS = ("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning")
_LINES = ("paragraph", "caption", "rubric", "term", "title", "subtitle")
_BLOCKS: dict[str, Callable[[_Walk, Any], Iterator[str]]] = {
    **dict.fromkeys(("bullet_list", "enumerated_list"), _Walk.list_),
    **dict.fromkeys(("definition_list", "field_list", "option_list"), _Walk.definitions),
    **dict.fromkeys(("literal_block", "doctest_block"), _Walk.literal),
    "math_block": lambda _walk, node: iter([f"$${node.astext()}$$"]),
    "line_block": _Walk.lines,
    **dict.fromkeys(("footnote", "citation"), _Walk.note),
    "table": _Walk.table,
    "attribution": lambda walk, node: iter([f"— {walk.line(node)}"]),
    "image": lambda walk, node: iter([walk._image(node)]),
    "container": _Walk.container,
    "system_message": _Walk.message,
    **dict.fromkeys(
        ("comment", "target", "substitution_definition", "raw", "transition", "pending", "meta"), _Walk.nothing
    ),
}

FORMAT = FileFormat("rst", suffixes=(".rest", ".rst"), read=read_rst)
