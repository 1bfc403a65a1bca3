"""Reader of wikitext (MediaWiki): sections, lists, tables, templates with their values, and references at the end.

A small parser of its own that takes time linear in the text. mwparserfromhell needs two minutes for 80 KB of open templates.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title, decode
from hlgraph.read.formats._blocks import Unread, code, document_of, heading, item, lowered, raised
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import WIDEST, Cell, Grid
from hlgraph.records import Document

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# No opening tag stands inside of an element: so the search from each of them ends at the next one.
_KEPT = re.compile(
    r"<(nowiki|pre|syntaxhighlight|source|math)\b([^<>]*)>((?:(?!<\1\b).)*?)</\1\s*>", re.DOTALL | re.IGNORECASE
)
_REF = re.compile(r"<ref\b([^<>]*?)(?:/>|>((?:(?!<ref\b).)*?)</ref\s*>)", re.DOTALL | re.IGNORECASE)
_BRACES = re.compile(r"\{\{|\}\}|\[\[|\]\]")
_LINK = re.compile(r"\[(?:https?|ftp|mailto)[:/][^\s\[\]]*+\s*+([^\[\]\n]*+)\]|\[(//[^\s\[\]]++)\s*+([^\[\]\n]*+)\]")
_HEADING = re.compile(r"(={1,6})\s*(.+?)\s*\1\s*")
_LIST = re.compile(r"([*#:;]+)\s*(.*)")
_TAG = re.compile(r"</?(?:[a-zA-Z][a-zA-Z0-9]*)\b[^<>]{0,1000}>")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SHIFTED = re.compile(r"<(sup|sub)>([^<>]{1,40})</\1>", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\s*+(?:[\w-]++\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s|\"']++)\s*+)++\|(?!\|)")
_SPAN = re.compile(r"(colspan|rowspan)\s*=\s*[\"']?(\d{1,4})", re.IGNORECASE)
_REDIRECT = re.compile(r"#redirect\s*:?\s*", re.IGNORECASE)
_MAGIC = re.compile(r"__[A-Z]{2,20}__")
_MARK = "\x1a{}\x1a"
_MARKED = re.compile("\x1a(\\d+)\x1a")
_ENDS = frozenset(".!?…")  # a mark after these belongs to their sentence
_SWITCHES = frozenset(("on", "off", "yes", "no", "y", "n", "0", "1"))  # of options of templates on a line
_LONGEST_TITLE = 1_000
_MEDIA = ("file", "image", "media", "datei", "fichier", "archivo")
_HIDDEN = ("category", "kategorie", "catégorie", "categoría")
_CITES = ("cite", "citation", "literatur", "internetquelle")
_NOTES = re.compile(r"(?:efn|refn)(?:-\w+)?")
_QUOTES = frozenset(("quote", "blockquote", "cquote", "quotation", "bquote"))
_LANGUAGES = re.compile(r"^(?:\[\[(?:[a-z]{2}|simple):[^\[\]|\n]{1,300}\]\][ \t]*+)++$", re.MULTILINE)  # of other wikis
_ENDS_BLOCK = re.compile(r"\Z|\n(?![a-zß-öø-ÿ])")
_DEEPEST = 20


def read_wikitext(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a page. A template gives its parameters: ``name: value`` in a list, or the values in a line.

    Parameters
    ----------
    origin : the file; its stem is the title
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    ReadError
        It is not text, holds no text, or exceeds a limit of :mod:`hlgraph.read.bounds`.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    produced = Produced(origin, len(data), options.max_bytes)
    page = _Page(produced)
    blocks = list(page.blocks(page.plain(text)))
    if page.references:
        lines = (f"{number}. {text}" for number, text in enumerate(page.references.values(), 1))
        blocks += [heading("References", 2), "\n".join(lines)]
    metadata = {"categories": tuple(map(clean, page.categories))}
    return document_of(produced, blocks, metadata=metadata, warnings=(*warnings, *page.unread.warnings()))  # type: ignore[arg-type]


class _Page:
    """What one page refers to while it is read.

    Attributes
    ----------
    references : text of each note, by its name or text, in the order of first use
    categories : its categories
    unread : what was left out
    """

    def __init__(self, produced: Produced) -> None:
        self.references: dict[str, str] = {}
        self.categories: list[str] = []
        self.unread = Unread()
        self._produced = produced
        self._kept: list[str] = []

    def plain(self, text: str) -> str:
        """The text without comments, references, templates and links; code is kept aside."""
        bare, count = _COMMENT.subn("", text.replace("\x1a", ""))
        self.unread.update({"comment": count} if count else {})
        bare = _KEPT.sub(self._keep, bare)
        bare = _LANGUAGES.sub("", _REF.sub(self._cite, bare))
        return _MAGIC.sub("", self._expanded(bare))

    def _keep(self, match: re.Match[str]) -> str:
        kind, attributes, body = match[1].lower(), match[2], match[3]
        if kind == "nowiki":
            shown = body
        elif kind == "math":
            shown = f"${' '.join(body.split())}$"
        else:
            language = re.search(r"lang\s*=\s*[\"']?([\w+-]+)", attributes)
            shown = code(body, language[1] if language else "")
        self._kept.append(shown)
        return _MARK.format(len(self._kept) - 1)

    def _restored(self, text: str) -> str:
        return _MARKED.sub(lambda match: self._kept[int(match[1])] if int(match[1]) < len(self._kept) else "", text)

    def _cite(self, match: re.Match[str]) -> str:
        name = re.search(r"name\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s/>]+))", match[1])
        text = self._line(self._expanded(match[2] or ""))
        key = next(filter(None, name.groups()), "") if name else text
        return self._noted(key, text, "" if match.string[match.start() - 1 : match.start()] in _ENDS else " ")

    def _noted(self, key: str, text: str, space: str = " ") -> str:
        if not key:
            return ""
        self.references[key] = self.references.get(key) or text
        number = str(list(self.references).index(key) + 1) if len(self.references) < 1000 else "*"
        return f"{space}[{number}]"

    def _expanded(self, text: str) -> str:
        """The text with templates and links replaced, from the innermost outwards; braces without a partner stay."""
        stack: list[tuple[str, list[str]]] = [("", [])]
        at = 0
        for mark in _BRACES.finditer(text):
            stack[-1][1].extend(filter(None, [text[at : mark.start()]]))
            at = mark.end()
            if mark[0] in ("{{", "[["):
                stack.append((mark[0], []))
                if len(stack) > _DEEPEST:  # flatten: an attack, or a table of open braces
                    opening, parts = stack.pop(1)
                    stack[0][1].extend([opening, *parts])
            elif stack[-1][0] == {"}}": "{{", "]]": "[["}[mark[0]]:
                opening, parts = stack.pop()
                inner = "".join(parts)
                shown = self._template(inner) if opening == "{{" else self._link(inner)
                before = stack[-1][1][-1] if stack[-1][1] else "\n"
                is_alone = len(stack) == 1 and opening == "{{" and before[-1] == "\n" and _ENDS_BLOCK.match(text, at)
                stack[-1][1].extend([f"{shown}\n" if is_alone else shown] if shown else [])
            else:
                stack[-1][1].append(mark[0])
        while len(stack) > 1:
            opening, parts = stack.pop()
            stack[-1][1].append(opening + "".join(parts))
        return "".join([*stack[0][1], text[at:]])

    def _template(self, inner: str) -> str:
        """The values of a template: named ones as a list if it stands for a box, else the values on the line."""
        name, *parts = inner.split("|")
        pairs = [part.partition("=") for part in parts]
        named = [(key.strip(), value.strip()) for key, sign, value in pairs if sign and value.strip()]
        values = [key.strip() for key, sign, _ in pairs if not sign and key.strip()]
        title = name.strip()
        if (shown := self._known(title.lower(), values)) is not None:
            return shown
        if title.lower().startswith(_CITES):
            return ", ".join(value for key, value in named if key not in ("ref", "url-status")) or " ".join(values)
        if len(named) >= 2 and "\n" in inner:
            items = "\n".join(f"* {key}: {' '.join(value.split())}" for key, value in named)
            return f"\n\n{title}:\n{items}\n\n" + " ".join(values)
        if not named and not values:
            self.unread[f"template {title}"] += 1
            return ""
        return " ".join([*values, *(value for _, value in named if value.lower() not in _SWITCHES)])

    def _known(self, name: str, values: list[str]) -> str | None:
        """What a measure, a note or a quotation says; None for another template."""
        if name in ("convert", "cvt") and values:
            return _measured(values)
        if _NOTES.fullmatch(name) and values:
            return self._noted(values[0], self._line(values[0]))
        return " — ".join(filter(None, [values[0], ", ".join(values[1:])])) if name in _QUOTES and values else None

    def _link(self, inner: str) -> str:
        target, *parts = inner.split("|")
        space, colon, page = target.strip().lstrip(":").partition(":")
        kind = space.strip().lower() if colon else ""
        if kind in _HIDDEN and not target.strip().startswith(":"):
            self.categories.append(page.strip())
            return ""
        if kind in _MEDIA:
            caption = parts[-1].strip() if parts else ""
            self.unread["image"] += 1
            return f"\n\n{caption}\n\n" if len(caption) > 12 else ""
        return parts[-1] if parts and parts[-1].strip() else target.lstrip(":")

    def _line(self, text: str) -> str:
        """The text of a line without fonts, tags and entities."""
        text = _SHIFTED.sub(lambda match: (raised if match[1].lower() == "sup" else lowered)(match[2]), text)
        text = _LINK.sub(lambda match: match[1] or match[3] or match[2] or match[0].strip("[]"), text)
        text = _TAG.sub("", _LINE_BREAK.sub(" ", text)).replace("'''", "").replace("''", "")
        return " ".join(self._restored(clean(html.unescape(text)) if "&" in text else text).split(" ")).strip()

    def blocks(self, text: str) -> Iterator[str]:
        """The blocks of lines whose templates and links are replaced."""
        lines = iter(text.split("\n"))
        prose: list[str] = []
        entries: list[str] = []
        term = ""  # of these definitions
        for line in lines:
            bare = line.strip()
            is_list = _LIST.fullmatch(line) if line[:1] in ("*", "#", ":", ";") and not _REDIRECT.match(line) else None
            if entries and not is_list:
                yield "\n".join(filter(None, entries))
                entries = []
            title = _HEADING.fullmatch(bare) if bare[:1] == "=" and len(bare) < _LONGEST_TITLE else None
            if title or is_list or bare.startswith("{|") or not bare:
                yield self._paragraph(prose)
                prose = []
            if title:
                yield heading(self._line(title[2]), len(title[1]))
            elif is_list:
                entry = self._entry(is_list[1], is_list[2])
                if is_list[1] == ":" and entries and term:
                    del entries[len(entries) - (entries[-1] == item(term)) :]
                    entry = item(f"{term}: {entry}")
                elif is_list[1] == ";":
                    term = self._line(is_list[2]).partition(" : ")[0]
                else:
                    term = ""
                entries.append(entry)
            elif bare.startswith("{|"):
                yield from self._table(lines)
            elif bare and not re.fullmatch(r"-{4,}", bare):
                prose.append(_REDIRECT.sub("Redirect: ", bare))
        yield "\n".join(filter(None, entries))
        yield self._paragraph(prose)

    def _paragraph(self, lines: list[str]) -> str:
        return "\n".join(filter(None, map(self._line, lines)))

    def _entry(self, marks: str, text: str) -> str:
        line = self._line(text)
        if marks.endswith(":") and marks.strip(":") == "":
            return line
        if marks == ";":
            term, _, definition = line.partition(" : ")
            return item(f"{term}: {definition}" if definition else term)
        return item(line, marker="1." if marks.endswith("#") else "-", depth=min(len(marks), _DEEPEST) - 1)

    def _table(self, lines: Iterator[str]) -> Iterator[str]:
        """A table up to its ``|}``; a table inside of it becomes part of a cell."""
        rows: list[list[tuple[list[str], bool]]] = [[]]
        captions: list[str] = []
        depth = 1
        for line in lines:
            bare = line.strip()
            depth += bare.startswith("{|") - bare.startswith("|}")
            if not depth:
                break
            if depth == 1 and bare.startswith("|+"):
                captions.append(_ATTRIBUTES.sub("", bare[2:], count=1))
            elif depth == 1 and bare.startswith("|-"):
                rows.append([])
            elif depth == 1 and bare[:1] in ("|", "!") and bare != "|}":
                parts = re.split(r"\|\||!!" if bare[0] == "!" else r"\|\|", bare[1:])
                rows[-1] += [([part], bare[0] == "!") for part in parts]
            elif rows[-1] and bare and not bare.startswith(("{|", "|-")):
                rows[-1][-1][0].append(bare.lstrip("|!"))
        yield from map(self._line, captions)
        yield Grid(
            [[self._cell(" ".join(parts), is_head) for parts, is_head in row] for row in rows if row],
            produced=self._produced,
        ).markdown()

    def _cell(self, text: str, is_head: bool) -> Cell:
        attributes = _ATTRIBUTES.match(text)
        spans = {name.lower(): int(count) for name, count in _SPAN.findall(attributes[0])} if attributes else {}
        shown = self._line(text[attributes.end() :] if attributes else text)
        width = max(1, min(spans.get("colspan", 1), WIDEST))
        return Cell(clean_title(shown), width, spans.get("rowspan", 1), is_head=is_head)


def _measured(values: list[str]) -> str:
    """The words of a measure and its unit, without the units that it is converted to: 5, "to", 9, "km", "mi"."""
    shown: list[str] = []
    is_whole = False
    for value in values:
        is_part = not shown or (value[-1:].isdigit() and not value[0].isalpha())
        if is_whole and not is_part:
            break
        is_whole = not is_part and value.lower() not in _BETWEEN
        shown.append(_POWER.sub(lambda match: raised(match[0]), value) if is_whole else value)
    return " ".join(shown)


_BETWEEN = {*"-–x×±*+,", "to", "to(-)", "to about", "and", "and(-)", ", and", "or", ", or", "by", "xx", "+/-"}
_POWER = re.compile(r"(?<=[a-z])[23]\Z")


FORMAT = FileFormat("wikitext", suffixes=(".mediawiki", ".wiki", ".wikitext"), read=read_wikitext)
