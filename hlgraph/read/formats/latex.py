"""Reader of LaTeX with pylatexenc: the body as Markdown. No file is included, and no macro of the document is expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, decode
from hlgraph.read.formats._blocks import Unread, code, document_of, heading, item
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import WIDEST, Cell, Grid
from hlgraph.records import Document, MetadataValue


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONGEST = 4 << 20  # characters; each needs some 100 bytes while it is parsed
_LEVELS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}
_DROPPED = _names(
    "label vspace hspace pagestyle thispagestyle setlength addtolength setcounter addtocounter bibliographystyle hline cline "
    "toprule "
    "midrule bottomrule cmidrule hfill vfill noindent centering clearpage newpage pagebreak tableofcontents listoffigures "
    "listoftables maketitle usepackage documentclass newcommand renewcommand providecommand newenvironment newtheorem "
    "DeclareMathOperator hypersetup index glossary color pagenumbering nocite rule phantom title author date fontsize selectfont"
)
_FILES = _names("input include subfile includegraphics bibliography addbibresource lstinputlisting import")
_MACROS = {  # that the library does not know, with the kinds of their arguments
    **dict.fromkeys(("multicolumn", "multirow"), "{{{"),
    **dict.fromkeys(
        ("cref", "Cref", "autoref", "nameref", "enquote", "gls", "ce", "todo", "paragraph", "subparagraph"), "{"
    ),
    **dict.fromkeys(("citep", "citet", "parencite", "textcite", "autocite", "citeauthor", "citeyear"), "*[[{"),
    **dict.fromkeys(("SI", "definecolor", "newtheorem", "setcounter"), "{{"),
    "DeclareMathOperator": "*{{",
}
_BEGIN = re.compile(r"^[^%\n]*\\begin\{document\}", re.MULTILINE)
_LABEL = re.compile(r"\\label\{[^}]*\}")
_CITED = re.compile(r"[a-zA-Z]*[cC]ite[a-zA-Z]*\*?|(?:page|eq|auto|name|[cC])?ref\*?")
_BREAKS = _names("\\ newline linebreak par quad qquad item and tabularnewline")
_NOTES = _names("footnote thanks footnotetext endnote marginpar")
_TABLES = _names("tabular tabular* tabularx tabulary longtable array tabu supertabular")
_LISTS = _names("itemize enumerate description compactitem compactenum")
_MATH = _names(
    "equation equation* align align* gather gather* multline multline* eqnarray eqnarray* displaymath math flalign alignat"
)
_CODE = _names("verbatim verbatim* lstlisting minted Verbatim alltt")
_PLAIN = _names(
    "document center flushleft flushright quote quotation verse figure figure* table table* minipage titlepage small multicols"
)
_SKIPPED = _names("comment tikzpicture pgfpicture filecontents filecontents* picture")


def read_latex(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a file: sections, lists, tables, formulas as TeX, notes in their places, references at the end.

    Parameters
    ----------
    origin : the file; its stem is the title if it has none
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    MissingExtraError
        pylatexenc is not installed.
    ReadError
        It is not text, longer than 4 Mi characters, nested too deeply, or holds no text.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    if len(text) > _LONGEST:
        raise refused(origin, "characters of LaTeX", limit=_LONGEST)
    try:
        import pylatexenc.latex2text
        import pylatexenc.latexwalker  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("latex", "reading LaTeX") from error
    produced = Produced(origin, len(data), options.max_bytes)
    begin = _BEGIN.search(text)
    end = text.find("\\end{document}")
    try:
        walk = _Walk(produced)
        about = {name: clean(walk.declared(name, text)) for name in _ABOUT}
        blocks = list(walk.blocks(_nodes(text[begin.end() if begin else 0 : end if end >= 0 else None])))
    except RecursionError as error:
        raise ReadError(origin.uri, "nests groups too deeply, or leaves many open", "check it with chktex") from error
    metadata: dict[str, MetadataValue] = {name: about[name] for name in ("author", "date")}
    title = clean_title(about["title"])
    if title:
        blocks.insert(0, heading(title, 1))
    return document_of(
        produced, blocks, title=title, metadata=metadata, warnings=(*warnings, *walk.unread.warnings()), part="its body"
    )


def _nodes(text: str) -> Sequence[Any]:
    """The parsed text."""
    from pylatexenc.latexwalker import LatexWalker, get_default_latex_context_db
    from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, MacroStandardArgsParser

    context = get_default_latex_context_db()
    macros = [MacroSpec(name, args_parser=MacroStandardArgsParser(shape)) for name, shape in _MACROS.items()]
    environments = [EnvironmentSpec("thebibliography", args_parser=MacroStandardArgsParser("{"))]
    context.add_context_category("hlgraph", prepend=True, macros=macros, environments=environments)
    nodes: Sequence[Any] = LatexWalker(text, latex_context=context, tolerant_parsing=True).get_latex_nodes()[0]
    return nodes


_ABOUT = ("title", "author", "date")
_LONGEST_TITLE = 4096


def _macro(node: Any) -> str:
    return str(getattr(node, "macroname", ""))


def _environment(node: Any) -> str:
    return str(getattr(node, "environmentname", ""))


def _arguments(node: Any) -> list[Any]:
    about = getattr(node, "nodeargd", None)
    return [each for each in getattr(about, "argnlist", None) or [] if each is not None]


def _argument(node: Any) -> list[Any]:
    """The last argument of a macro, which most often is its text."""
    return _arguments(node)[-1:]


class _Walk:
    """Turns the nodes of pylatexenc into blocks of Markdown.

    Attributes
    ----------
    unread : what was left out
    """

    def __init__(self, produced: Produced) -> None:
        from pylatexenc.latex2text import LatexNodes2Text

        self.unread = Unread()
        self._produced = produced
        self._depth = 0
        self._symbols: Any = LatexNodes2Text(math_mode="verbatim", keep_comments=False)

    def declared(self, name: str, text: str) -> str:
        """What the macro of a name declares, such as ``title``; empty if it is not there."""
        at = next((match.start() for match in re.finditer(rf"^[^%\n]*?\\{name}\b", text, re.MULTILINE)), None)
        if at is None:
            return ""
        part = text[text.index(f"\\{name}", at) :][:_LONGEST_TITLE]
        return self.line(_argument(_nodes(part)[0]))

    def blocks(self, nodes: Sequence[Any]) -> Iterator[str]:
        """The blocks of nodes; a blank line ends a paragraph."""
        line: list[str] = []
        for node in _flat(nodes):
            name = _macro(node)
            is_display = type(node).__name__ == "LatexMathNode" and node.displaytype == "display"
            if not (name.rstrip("*") in _LEVELS or name == "caption" or _environment(node) or is_display):
                line.append(self._inline(node))
                continue
            yield from _paragraphs(line)
            line = []
            if is_display:
                yield " ".join(node.latex_verbatim().split())
            elif name == "caption":
                yield self.line(_argument(node))
            elif name:
                yield heading(self.line(_argument(node)), _LEVELS[name.rstrip("*")])
            else:
                yield from self._block(node)
        yield from _paragraphs(line)

    def _block(self, node: Any) -> Iterator[str]:
        name = _environment(node)
        own = next((block for names, block in _BLOCKS if name in names), None)
        if own is not None:
            yield from own(self, node)
        elif name in _SKIPPED:
            self.unread[f"environment {name}"] += 1
        elif name in _PLAIN:
            yield from self.blocks(node.nodelist)
        else:  # a theorem, a proof, a box
            first, *rest = [*filter(None, self.blocks(node.nodelist)), ""]
            named = " ".join(filter(None, (self.line([each]).strip("[]") for each in _arguments(node))))
            yield f"{name.rstrip('*').capitalize()}{f' ({named})' if named else ''}: {first}"
            yield from rest

    def line(self, nodes: Sequence[Any]) -> str:
        """The text of nodes on one line."""
        return " ".join("".join(map(self._inline, _flat(nodes))).split())

    def _inline(self, node: Any) -> str:
        kind = type(node).__name__
        name = _macro(node)
        if kind == "LatexCharsNode":
            return str(node.chars)
        if kind == "LatexCommentNode":
            return str(node.comment_post_space)
        if kind == "LatexMathNode":
            return " ".join(node.latex_verbatim().split())
        if kind == "LatexEnvironmentNode":
            return f" {' '.join(self.blocks([node]))} "
        if kind == "LatexSpecialsNode":
            return "\n\n" if node.specials_chars == "\n\n" else self._symbol(node)
        return self._of_macro(node, name) if kind == "LatexMacroNode" else ""

    def _of_macro(self, node: Any, name: str) -> str:
        space = str(node.macro_post_space or "")
        texts = [self.line([each]) for each in _arguments(node)]
        if name in _DROPPED:
            return space
        if name in _FILES:
            self.unread[f"{'image' if name == 'includegraphics' else 'file'} {texts[-1] if texts else ''}".strip()] += 1
            return space
        if name in _BREAKS:
            return {"par": "\n\n", "and": ", "}.get(name, " ")
        text = texts[-1] if texts else ""
        if name in _NOTES:
            text = f" [{text}]" if text else ""
        elif _CITED.fullmatch(name):
            text = f"[{', '.join(texts)}]" if "cite" in name.lower() else text
        elif name == "href" and texts:
            text = f"{text} ({texts[0]})"
        elif name == "texorpdfstring" and texts:
            text = texts[0]
        elif not texts or len(name) == 1:  # a symbol or an accent
            text = self._symbol(node) + ("" if texts else space)
        elif name not in ("multicolumn", "multirow"):
            text = " ".join(filter(None, texts))
        return text

    def _symbol(self, node: Any) -> str:
        """The character that a macro stands for; empty for a macro that lacks its arguments."""
        try:
            return str(self._symbols.nodelist_to_text([node]))
        except (AttributeError, IndexError, TypeError):
            return ""

    def listing(self, node: Any) -> Iterator[str]:
        verbatim = getattr(node.nodeargd, "verbatim_text", None)
        source = verbatim if verbatim is not None else "".join(each.latex_verbatim() for each in node.nodelist)
        yield code(re.sub(r"^\s*\[[^\]\n]*\]|^\{\w+\}", "", source))

    def formula(self, node: Any) -> Iterator[str]:
        source = "".join(each.latex_verbatim() for each in node.nodelist)
        yield f"$${' '.join(_LABEL.sub('', source).split())}$$"

    def list_(self, node: Any) -> Iterator[str]:
        lines: list[str] = []
        number = 0
        label, part = "", list[Any]()
        self._depth += 1
        for inner in (*_flat(node.nodelist), None):
            if inner is not None and _macro(inner) not in ("item", "bibitem"):
                part.append(inner)
                continue
            first, *rest = [*self.blocks(part), ""]
            marker = f"{number}." if _environment(node).endswith("enumerate") else "-"
            lines.append(item(f"{label}{': ' if label and first else ''}{first}", marker=marker, depth=self._depth - 1))
            lines += [
                each if each.startswith(("  ", "|", "`")) else f"{'  ' * self._depth}{each}"
                for each in filter(None, rest)
            ]
            number += 1
            label, part = self.line(_arguments(inner)[:1]) if inner is not None else "", []
        self._depth -= 1
        yield "\n".join(filter(None, lines))

    def references(self, node: Any) -> Iterator[str]:
        yield heading("References", 2)
        yield from self.list_(node)

    def abstract(self, node: Any) -> Iterator[str]:
        yield heading("Abstract", 2)
        yield from self.blocks(node.nodelist)

    def table(self, node: Any) -> Iterator[str]:
        """A table whose cells stand between ``&`` and whose rows end with two backslashes."""
        rows: list[list[Cell]] = []
        cells: list[list[Any]] = [[]]
        head = 0
        captions: list[str] = []
        covered: dict[int, int] = {}
        for inner in node.nodelist:
            if _macro(inner) in ("midrule", "endhead"):
                head = head or len(rows)
            if _macro(inner) == "caption":
                captions.append(self.line(_argument(inner)))
            elif getattr(inner, "specials_chars", "") == "&":
                cells.append([])
            elif _macro(inner) in ("\\", "tabularnewline"):
                rows.append(self._row(cells, covered))
                cells = [[]]
            else:
                cells[-1].append(inner)
        rows.append(self._row(cells, covered))
        rows = [[cell._replace(is_head=True) for cell in row] if at < head else row for at, row in enumerate(rows)]
        yield from captions
        yield Grid(rows, produced=self._produced).markdown()

    def _row(self, parts: list[list[Any]], covered: dict[int, int]) -> list[Cell]:
        """The cells of a row at their columns. Under a cell of several rows stands an empty one, which is left out."""
        cells: list[Cell] = []
        at = 0
        for part in parts:
            cell = self._cell(part)._replace(column=at)
            if covered.get(at, 0) > 0 and not cell.text:
                covered[at] -= 1
            else:
                covered[at] = cell.height - 1
                cells.append(cell)
            at += cell.width
        return cells

    def _cell(self, nodes: list[Any]) -> Cell:
        spans = {"multicolumn": 1, "multirow": 1}
        for node in nodes:
            if _macro(node) in spans and _arguments(node):
                count = self.line(_arguments(node)[:1])
                spans[_macro(node)] = min(int(count), WIDEST) if count.isdecimal() else 1
        return Cell(self.line(nodes), max(1, spans["multicolumn"]), max(1, spans["multirow"]))


def _flat(nodes: Sequence[Any]) -> Iterator[Any]:
    """The nodes, with groups replaced by what they hold."""
    for node in nodes:
        if type(node).__name__ == "LatexGroupNode":
            yield from _flat(node.nodelist)
        else:
            yield node


def _paragraphs(line: list[str]) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", "".join(line)):
        yield " ".join(part.split())


_BLOCKS: tuple[tuple[frozenset[str], Callable[[_Walk, Any], Iterator[str]]], ...] = (
    (_TABLES, _Walk.table),
    (_LISTS, _Walk.list_),
    (_MATH, _Walk.formula),
    (_CODE, _Walk.listing),
    (_names("thebibliography"), _Walk.references),
    (_names("abstract"), _Walk.abstract),
)

FORMAT = FileFormat("latex", suffixes=(".latex", ".tex"), read=read_latex)
