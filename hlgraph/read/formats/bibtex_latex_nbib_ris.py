"""Readers of LaTeX with pylatexenc, and of bibliographies: BibTeX, RIS, and NBIB of PubMed.

The body of LaTeX is Markdown, with its own macros expanded and its references numbered. No file is included. A number is shown
only where the file alone decides it. A bibliography is a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import takewhile
from typing import Any, NamedTuple

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, decode
from hlgraph.read.formats._blocks import Unread, code, document_of, heading, item, lowered, raised, records_table
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
    "toprule midrule bottomrule addlinespace specialrule endhead endfirsthead endfoot endlastfoot footnotemark protect "
    "tightlist raggedright raggedleft xspace ignorespaces unskip leavevmode "
    "itemsep parskip parsep topsep parindent textwidth linewidth columnwidth hfill vfill noindent "
    "centering clearpage newpage pagebreak tableofcontents listoffigures "
    "listoftables maketitle usepackage documentclass newcommand renewcommand providecommand newenvironment newtheorem "
    "DeclareMathOperator hypersetup index glossary color pagenumbering nocite rule phantom title author date fontsize selectfont"
)
_FILES = _names("input include subfile includegraphics bibliography addbibresource lstinputlisting import")
_MACROS = {  # that the library does not know, with the kinds of their arguments
    **dict.fromkeys(("multicolumn", "multirow"), "{{{"),
    **dict.fromkeys(
        _names(
            "cref Cref autoref nameref enquote gls ce todo paragraph subparagraph num ang si unit cline "
            "textsuperscript textsubscript"
        ),
        "{",
    ),
    **dict.fromkeys(_names("citep citet parencite textcite autocite citeauthor citeyear"), "*[[{"),
    **dict.fromkeys(_names("SI qty definecolor newtheorem href hypertarget hyperlink scalebox rotatebox"), "{{"),
    **dict.fromkeys(_names("thanks endnote marginpar footnotetext title author institute date"), "[{"),
    **dict.fromkeys(_names("footnotemark addlinespace"), "["),
    **dict.fromkeys(_names("opening closing encl cc ps signature"), "{"),
    "caption": "*[{",
    "DeclareMathOperator": "*{{",
    "makebox": "[[{",
    "parbox": "[[[{{",
    "raisebox": "{[[{",
    "resizebox": "*{{{",
    "specialrule": "{{{",
}
_ENVIRONMENTS = {
    **dict.fromkeys(("letter", "multicols", "thebibliography"), "{"),
    **dict.fromkeys(("longtable", "tabu", "supertabular", "wraptable", "subfigure", "subtable"), "[{"),
    **dict.fromkeys(("tabularx", "tabulary", "tabular*"), "{[{"),
    "minipage": "[[[{",
    "wrapfigure": "[{[{",
}
_LAST = _names(
    "colorbox fcolorbox hyperlink hypertarget makebox parbox raisebox resizebox rotatebox scalebox textcolor"
)
_LINES = re.compile(
    r"\\cmidrule(?:\[[^\]\n]*\])?(?:\([^)\n]*\))?\{[-\d]+\}"
)  # the library has no form for such arguments
_SIGNS = {"pm": "±", "times": "×", "sim": "∼", "approx": "≈", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "cdot": "·"}
_LOGOS = {name: name for name in _names("TeX LaTeX BibTeX XeTeX XeLaTeX LuaTeX LuaLaTeX pdfTeX pdfLaTeX ConTeXt")}
_LOGOS |= {"LaTeXe": "LaTeX2e", "AmS": "AMS"}
_SIGNS |= {"%": "%", ",": " ", "checkmark": "✓"}
_SIGN = re.compile(r"\\([a-z]+|[%,])")
_PLAIN_MATH = re.compile(
    rf"\$\s*(?:((?:[-+\d\s.,:/%=<>()]|\\(?:{'|'.join(_SIGNS)})(?![a-z]))+)|"
    r"\^\{?([^{}\\$]{1,3})\}?)\s*\$"
)
_UNITS = dict(
    part.split("=")
    for part in _names(
        "kilo=k milli=m micro=µ mega=M giga=G centi=c nano=n hecto=h deci=d metre=m meter=m gram=g second=s ampere=A kelvin=K "
        "mole=mol hertz=Hz newton=N pascal=Pa joule=J watt=W volt=V ohm=Ω celsius=°C degree=° degreeCelsius=°C litre=L liter=L "
        "percent=% minute=min hour=h day=d tonne=t per=/ squared=² cubed=³ electronvolt=eV"
    )
)
_BEGIN = re.compile(r"^[^%\n]*\\begin\{document\}", re.MULTILINE)
_LABEL = re.compile(r"\\label\{[^}]*\}")
_CITED = re.compile(r"[a-zA-Z]*[cC]ite[a-zA-Z]*\*?|(?:page|eq|auto|name|[cC])?ref\*?")
_BREAKS = _names("\\ newline linebreak par quad qquad item and tabularnewline")
_NOTES = _names("footnote thanks footnotetext endnote marginpar")
_OF_LETTER = _names("opening closing encl cc ps")
_UNITED = _names("SI qty si unit")
_TABLES = _names("tabular tabular* tabularx tabulary longtable array tabu supertabular")
_LISTS = _names("itemize enumerate description compactitem compactenum")
_MATH = _names(
    "equation equation* align align* gather gather* multline multline* eqnarray eqnarray* displaymath math flalign alignat"
)
_CODE = _names("verbatim verbatim* lstlisting minted Verbatim alltt")
_PLAIN = _names(
    "document center flushleft flushright quote quotation verse figure figure* table table* minipage titlepage small multicols "
    "wrapfigure wraptable subfigure subtable landscape"
)
_SLIDES = re.compile(r"^[^%\n]*\\documentclass(?:\[[^\[\]]*\])?\{beamer\}", re.MULTILINE)
_GIVEN = r"\s*\{((?:[^{}\n]|\{[^{}\n]*\})+)\}"
_OF_SLIDES = (  # what slides have beside a document: steps, titles of frames, columns, blocks with a title
    (r"(\\(?:begin\{\w+\}|[a-zA-Z]+))<[^<>\n]{1,40}>", r"\1"),
    (r"\\frame\{\s*\\titlepage\s*\}|\\titlepage\b|\\end\{(?:columns?|frame|\w*block)\}", "\n\n"),
    (r"\\begin\{columns\}(?:\[[^\[\]\n]*\])?|\\(?:begin\{column\}|column\b)(?:\[\w\])?\s*\{[^{}\n]*\}", "\n\n"),
    (rf"\\(?:begin\{{frame\}}(?:\[[^\[\]\n]*\])?|frametitle){_GIVEN}", r"\n\n\\section*{\1}"),
    (r"\\begin\{frame\}(?:\[[^\[\]\n]*\])?", "\n\n"),
    (rf"\\framesubtitle{_GIVEN}", r"\n\n\1\n\n"),
    (rf"\\begin\{{\w*block\}}{_GIVEN}", r"\n\n\1: "),
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
    with needs_extra("latex", "reading LaTeX"):
        import pylatexenc.latex2text
        import pylatexenc.latexwalker  # noqa: F401
    produced = Produced(origin, len(data), options.max_bytes)
    if _SLIDES.search(text):
        for markup, plain in _OF_SLIDES:
            text = re.sub(markup, plain, text)
    text = _LINES.sub("", _numbered(_expanded(text)))
    begin = _BEGIN.search(text)
    end = text.find("\\end{document}")
    try:
        walk = _Walk(produced, theorems={name: title for name, title in _THEOREM.findall(text) if title})
        title, date = (clean(walk.declared(name, text)) for name in ("title", "date"))
        authors, notes = walk.authors(text)
        thanks = walk.notes("title", text)
        blocks = list(walk.blocks(_nodes(text[begin.end() if begin else 0 : end if end >= 0 else None])))
    except RecursionError as error:
        raise ReadError(origin.uri, "nests groups too deeply, or leaves many open", "check it with chktex") from error
    metadata: dict[str, MetadataValue] = {
        "author": authors if len(authors) > 1 else "".join(authors),
        "affiliation": notes,
        "date": date,
    }
    title = clean_title(title)
    if title:
        blocks[:0] = [heading(title, 1), *thanks]
    return document_of(
        produced, blocks, title=title, metadata=metadata, warnings=(*warnings, *walk.unread.warnings()), part="its body"
    )


def _nodes(text: str) -> Sequence[Any]:
    """The parsed text."""
    from pylatexenc.latexwalker import LatexWalker, get_default_latex_context_db
    from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, MacroStandardArgsParser

    context = get_default_latex_context_db()
    macros = [MacroSpec(name, args_parser=MacroStandardArgsParser(shape)) for name, shape in _MACROS.items()]
    environments = [
        EnvironmentSpec(name, args_parser=MacroStandardArgsParser(shape)) for name, shape in _ENVIRONMENTS.items()
    ]
    context.add_context_category("hlgraph", prepend=True, macros=macros, environments=environments)
    nodes: Sequence[Any] = LatexWalker(text, latex_context=context, tolerant_parsing=True).get_latex_nodes()[0]
    return nodes


_LONGEST_TITLE = 4096
_MOST_AUTHORS = 100
_NAME = re.compile(r"^[^%\n]*\\name\{([^{}\n]{1,100})\}\{([^{}\n]{1,100})\}", re.MULTILINE)  # whose curriculum it is


def _declarations(name: str, text: str) -> Iterator[list[Any]]:
    """The arguments of each ``\\title``, ``\\author`` or ``\\date``, at most a hundred."""
    for _, token in zip(range(_MOST_AUTHORS), (each for each in _tokens(text) if each["name"] == name), strict=False):
        yield _argument(_nodes(text[token.start() : token.start() + _LONGEST_TITLE])[0])


@cache
def _is_known(name: str) -> bool:
    """Whether the library knows a macro, though it may print nothing."""
    from pylatexenc import latex2text, latexwalker

    parsed = latexwalker.get_default_latex_context_db().get_macro_spec(name)
    printed = latex2text.get_default_latex_context_db().get_macro_spec(name)
    return any(each is not None and each.macroname for each in (parsed, printed))


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
    theorems : the titles of environments that the document defines
    """

    def __init__(self, produced: Produced, *, theorems: dict[str, str]) -> None:
        from pylatexenc.latex2text import LatexNodes2Text

        self.unread = Unread()
        self.theorems = theorems
        self._produced = produced
        self._depth = 0
        self._symbols: Any = LatexNodes2Text(math_mode="verbatim", keep_comments=False)

    def declared(self, name: str, text: str) -> str:
        """What the macro of a name declares without its notes, such as ``title``; empty if it is not there."""
        return self.line([node for node in _flat(next(_declarations(name, text), [])) if _macro(node) not in _NOTES])

    def notes(self, name: str, text: str) -> list[str]:
        """The notes in what the macro of a name declares."""
        nodes = _flat(next(_declarations(name, text), []))
        return [f"[{self.line(_argument(node))}]" for node in nodes if _macro(node) in _NOTES]

    def authors(self, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the authors, and the lines and notes below them, such as their affiliations."""
        names: list[str] = []
        notes: list[str] = []
        for nodes in [*_declarations("author", text)] or _declarations("signature", text):
            parts: list[list[Any]] = [[]]
            for node in _flat(nodes):
                if _macro(node).lower() == "and":
                    parts.append([])
                elif _macro(node) in _NOTES:
                    notes.append(self.line(_argument(node)))
                else:
                    parts[-1].append(node)
            for part in parts:
                own = list(takewhile(lambda node: _macro(node) not in ("\\", "newline"), part))
                names.append(self.line(own))
                notes.append(self.line(part[len(own) :]))
        if not names and (named := _NAME.search(text)):
            names = [" ".join(named.groups())]
        return tuple(filter(None, map(clean, names))), tuple(filter(None, map(clean, notes)))

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
        elif name in _PLAIN or name == "letter":
            yield self.line(_arguments(node)) if name == "letter" else ""
            yield from self.blocks(node.nodelist)
        else:  # a theorem, a proof, a box
            first, *rest = [*filter(None, self.blocks(node.nodelist)), ""]
            named = " ".join(filter(None, (self.line([each]).strip("[]") for each in _arguments(node))))
            title = self.theorems.get(name, name.rstrip("*").capitalize())
            yield f"{title}{f' ({named})' if named else ''}: {first}"
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
            return _math(node)
        if kind == "LatexEnvironmentNode":
            return f" {' '.join(self.blocks([node]))} "
        if kind == "LatexSpecialsNode":
            return "\n\n" if node.specials_chars == "\n\n" else self._symbol(node)
        return self._of_macro(node, name) if kind == "LatexMacroNode" else ""

    def _of_macro(self, node: Any, name: str) -> str:
        space = str(node.macro_post_space or "")
        texts = [self._unit([each]) if name in _UNITED else self.line([each]) for each in _arguments(node)]
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
        elif name in _OF_LETTER:
            text = f"\n\n{text}\n\n"
        elif name in ("textsuperscript", "textsubscript"):
            text = raised(text) if name == "textsuperscript" else lowered(text)
        elif _CITED.fullmatch(name):
            text = f"[{', '.join(texts)}]" if "cite" in name.lower() else text
        elif name == "href" and texts:
            text = f"{text} ({texts[0]})"
        elif name == "texorpdfstring" and texts:
            text = texts[0]
        elif not texts or len(name) == 1:  # a symbol or an accent
            text = {**_SIGNS, **_LOGOS}.get(name, "") if name.isalpha() else ""
            text = text or self._symbol(node)
            if not (text or texts or _is_known(name) or node.parsing_state.s.startswith("{", node.pos + node.len)):
                self.unread[f"macro \\{name}"] += 1
            text += "" if texts else space
        elif name not in ("multicolumn", "multirow"):
            text = " ".join(filter(None, texts))
        return text

    def _unit(self, nodes: Sequence[Any]) -> str:
        """A unit of siunitx, such as ``\\kilo\\metre``; the name of what is not known."""
        return "".join(_UNITS.get(_macro(each), _macro(each)) or self._inline(each).strip() for each in _flat(nodes))

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
        head = first = 0
        captions: list[str] = []
        feet: list[list[Cell]] = []
        covered: dict[int, int] = {}
        for inner in node.nodelist:
            if _macro(inner) in ("midrule", "endfirsthead", "endhead"):
                head = head or len(rows)
            if _macro(inner) == "endfirsthead":
                first = len(rows)
            elif _macro(inner) == "endhead" and first:  # the header of the next pages
                del rows[first:]
            elif _macro(inner) in ("endfoot", "endlastfoot"):  # that of other pages says that the table goes on
                feet = rows[head:] if _macro(inner) == "endlastfoot" else []
                del rows[head:]
            if _macro(inner) == "caption":
                captions.append(self.line(_argument(inner)))
            elif getattr(inner, "specials_chars", "") == "&":
                cells.append([])
            elif _macro(inner) in ("\\", "tabularnewline"):
                rows.append(self._row(cells, covered))
                cells = [[]]
            else:
                cells[-1].append(inner)
        rows += [self._row(cells, covered), *feet]
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


def _math(node: Any) -> str:
    """A formula as TeX; numbers with signs, and the mark of a note, as text."""
    source = " ".join(node.latex_verbatim().split())
    plain = _PLAIN_MATH.fullmatch(source)
    if plain is None:
        return source
    return _SIGN.sub(lambda sign: _SIGNS[sign[1]], plain[1]) if plain[1] else raised(plain[2])


def _flat(nodes: Sequence[Any]) -> Iterator[Any]:
    """The nodes, with groups replaced by what they hold; those of a macro without a known meaning are divided by signs."""
    from pylatexenc.latexwalker import LatexCharsNode

    at = count = 0  # where the arguments of such a macro end so far, and their number
    for node in nodes:
        is_group, kind = type(node).__name__ == "LatexGroupNode", type(node).__name__
        if not is_group or node.pos != at:
            yield from [LatexCharsNode(chars="\n\n")] if count > 1 else []
            is_called = kind == "LatexMacroNode" and not _arguments(node) and not _is_known(_macro(node))
            is_called = is_called and not node.parsing_state.s[: node.pos].rpartition("\n")[2].strip()
            at, count = node.pos + node.len if is_called else -1, 0
        if is_group:
            inner = [*_flat(node.nodelist)]
            has_text = any(getattr(each, "chars", "").strip() or _arguments(each) for each in inner)
            sign = "" if at != node.pos or not has_text or not count else ": " if count == 1 else ", "
            yield from [LatexCharsNode(chars=sign)] if sign else []
            at, count = (node.pos + node.len, count + has_text) if at == node.pos else (at, count)
            yield from inner
        elif _macro(node) in _LAST:
            yield from _flat(_argument(node))
        else:
            yield node
    yield from [LatexCharsNode(chars="\n\n")] if count > 1 else []


_TOKEN = re.compile(
    r"(?<!\\)%[^\n]*|\\(?P<edge>begin|end)\s*\{(?P<environment>[A-Za-z]+\*?)\}|\\(?P<name>[A-Za-z]+)(?P<star>\*?)|(?P<end>\\\\)"
)
_DEFINES = _names("newcommand renewcommand providecommand DeclareRobustCommand def")
_DEFINED = re.compile(
    r"\s*\{?\\(?P<name>[A-Za-z]+)\}?\s*(?:\[(?P<count>\d)\])?\s*(?:\[(?P<default>[^\]{}]*)\])?(?P<places>(?:#\d)*)\s*(?=\{)"
)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PLACE = re.compile(r"#(\d)")
_ONE = re.compile(r"\s*(\\[A-Za-z]+|\\.|[^\s{}\\])")
_PROGRAM = re.compile(r"@|\\(?:if|csname|let|def|catcode|expandafter)")  # of TeX, which only TeX runs
_LONGEST_ARGUMENT = 4096
_MOST_PASSES = 8  # macros in macros
_GROWTH, _LEAST_GROWTH = 2, 1 << 16


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """The macros, line ends and edges of environments outside of comments and listings, in linear time."""
    listing = ""
    for token in _TOKEN.finditer(text):
        environment = token["environment"] or ""
        if listing:
            if token["edge"] == "end" and environment == listing:
                listing = ""
        elif token["edge"] == "begin" and environment in _CODE:
            listing = environment
        elif token.lastgroup:
            yield token


def _closed(text: str, at: int, *, most: int = _LONGEST_ARGUMENT) -> int:
    """Where the group that opens at a brace ends; -1 if it is too long or left open."""
    level = 0
    for brace in _BRACE.finditer(text, at, at + most):
        level += {"{": 1, "}": -1}.get(brace[0], 0)
        if not level:
            return brace.end()
    return -1


class _Own(NamedTuple):
    """A macro that a document defines: the number of its arguments, the default of an optional first one, and its text."""

    places: int
    default: str | None
    body: str


def _expanded(text: str) -> str:
    """The text with the macros that it defines replaced by what they stand for, as far as it does not grow too much.

    Definitions are taken out. A macro that the library knows keeps its own meaning, and so does one with code of TeX in it.
    """
    own: dict[str, _Own] = {}
    parts: list[str] = []
    at = 0
    for token in _tokens(text):
        match = _DEFINED.match(text, token.end()) if token["name"] in _DEFINES and token.start() >= at else None
        end = _closed(text, match.end()) if match else -1
        if match is None or end < 0:
            continue
        body = text[match.end() + 1 : end - 1]
        name = match["name"]
        if not (_PROGRAM.search(body) or name in _DROPPED or name in _LEVELS or name in _MACROS or _is_known(name)):
            count = int(match["count"] or match["places"].count("#"))
            own[name] = _Own(count, match["default"], body)
        parts.append(text[at : token.start()])
        at = end
    text = "".join([*parts, text[at:]])
    most = len(text) * _GROWTH + _LEAST_GROWTH
    for _ in range(_MOST_PASSES if own else 0):
        wider = _with_own(text, own, most=most)
        if wider in (None, text):
            break
        text = wider or text
    return text


def _with_own(text: str, own: dict[str, _Own], *, most: int) -> str | None:
    """The text after one pass over its macros; None if it would be longer than allowed."""
    parts: list[str] = []
    size = len(text)
    at = 0
    for token in _tokens(text):
        macro = own.get(token["name"] or "")
        if macro is None or token.start() < at:
            continue
        arguments, end = _arguments_at(text, token.end() - len(token["star"]), macro)
        if arguments is None:
            continue
        body = _PLACE.sub(partial(_filled, arguments), macro.body)
        if re.search(r"\\[A-Za-z]+\Z", body) and text[end : end + 1].isalpha():
            body += " "
        parts += (text[at : token.start()], body)
        at = end
        size += len(body) - (end - token.start())
        if size > most:
            return None
    return "".join([*parts, text[at:]])


def _filled(arguments: Sequence[str], place: re.Match[str]) -> str:
    at = int(place[1]) - 1
    return arguments[at] if 0 <= at < len(arguments) else ""


def _arguments_at(text: str, at: int, macro: _Own) -> tuple[list[str] | None, int]:
    """The arguments of a macro that follow a place, and where they end; None if one is missing."""
    arguments: list[str] = []
    if macro.default is not None:
        option = re.compile(r"\s?\[([^\]{}]*)\]").match(text, at, at + _LONGEST_ARGUMENT)
        arguments.append(option[1] if option else macro.default)
        at = option.end() if option else at
    while len(arguments) < macro.places:
        group = re.compile(r"\s*(?=\{)").match(text, at)
        end = _closed(text, group.end()) if group else -1
        single = _ONE.match(text, at) if group is None else None
        if single:
            arguments.append(single[1])
            at = single.end()
        elif group and end > 0:
            arguments.append(text[group.end() + 1 : end - 1])
            at = end
        else:
            return None, at
    return arguments, at + 2 * (not macro.places and text.startswith("{}", at))


_CLASS = re.compile(r"^[^%\n]*\\documentclass\s*(?:\[[^\[\]]*\])?\s*\{(\w+)\}", re.MULTILINE)
_WITH_CHAPTERS = _names("report book extreport scrreprt scrbook")
_NUMBERED = _WITH_CHAPTERS | _names("article extarticle scrartcl amsart elsarticle llncs acmart")  # 1, 1.1, Table 1
_OWN_NUMBERS = re.compile(
    r"\\(?:setcounter|addtocounter|numberwithin|counterwithin\*?|counterwithout\*?|renewcommand\*?)\s*\{?(?:\\the)?([a-zA-Z]+)"
)
_INCLUDED = re.compile(r"^[^%\n]*\\(?:input|include|subfile|import)\b", re.MULTILINE)
_THEOREM = re.compile(r"\\newtheorem\*?\s*\{(\w+)\}(?:\s*\[\w+\])?\s*\{([^{}\\]{1,80})\}")
_ROWS = _names("align gather eqnarray alignat flalign")
_REFERS = re.compile(r"\\(ref|eqref|autoref|[cC]ref)\*?\s*\{([^{}]{1,400})\}|\\caption\s*(?:\[[^\]\n]*\])?\{")
_REFERRING = _names("ref eqref autoref cref Cref caption")
_KINDS = {"figure": "figure", "wrapfigure": "figure", "table": "table", "wraptable": "table", "longtable": "table"}


def _numbered(text: str) -> str:
    """The text with numbers in place of references, and before captions, as far as this file decides them."""
    named = _CLASS.search(text)
    begin = _BEGIN.search(text)
    if named is None or begin is None or named[1] not in _NUMBERED or _INCLUDED.search(text, begin.end()):
        return text
    numbers = _Numbers(text, has_chapters=named[1] in _WITH_CHAPTERS)
    places: set[int] = set()  # of references and captions, which a comment or a listing only shows
    for token in _tokens(text):
        if token.start() > begin.start():
            numbers.read(token)
            places |= {token.start()} if token["name"] in _REFERRING else set()

    def shown(match: re.Match[str]) -> str:
        if match.start() not in places:
            return match[0]
        if match[2] is None:
            kind, number = numbers.captions.get(match.start(), ("", ""))
            return f"{match[0]}{kind.capitalize()} {number}: " if number else match[0]
        labels = [numbers.labels.get(label.strip()) for label in match[2].split(",")]
        if any(label is None or not label.number for label in labels):
            return match[0]
        parts = [f"({label.number})" if match[1] == "eqref" else label.number for label in labels if label]
        name = (labels[0].kind if labels[0] else "") if match[1] in ("autoref", "cref", "Cref") else ""
        name = name.capitalize() if match[1] != "cref" else name
        return f"{name} {', '.join(parts)}".strip()

    return _REFERS.sub(shown, text)


class _Label(NamedTuple):
    kind: str
    number: str


class _Numbers:
    """Counts what LaTeX numbers: sections, figures, tables, equations and the items of a list.

    Attributes
    ----------
    labels : what each label stands for, with an empty number if that is not certain
    captions : what a caption is called, by where it begins
    """

    def __init__(self, text: str, *, has_chapters: bool) -> None:
        self.labels: dict[str, _Label] = {}
        self.captions: dict[int, _Label] = {}
        self._text = text
        self._theorems = {
            *(name for name, _ in _THEOREM.findall(text)),
            "theorem",
            "lemma",
            "proof",
            "algorithm",
            "subequations",
        }
        unknown = set(_OWN_NUMBERS.findall(text))
        self._levels = [*(["chapter"] if has_chapters else []), "section", "subsection"]
        self._levels += [] if has_chapters else ["subsubsection"]
        if "secnumdepth" in unknown or unknown & set(self._levels):
            unknown |= {*self._levels, *(("figure", "table", "equation") if has_chapters else ())}
        self._unknown = unknown
        self._counts = dict.fromkeys((*self._levels, "figure", "table", "equation"), 0)
        self._is_appendix = False
        self._now: _Label | None = None
        self._around: list[tuple[str, _Label | None, int]] = []  # environments, the label before each, the items in it

    def read(self, token: re.Match[str]) -> None:
        """Takes the next token into account."""
        name = token["name"] or ""
        if token["edge"] == "begin":
            self._open(token["environment"], token.end())
        elif token["edge"] == "end":
            if self._around:
                self._now = self._around.pop()[1]
        elif token["end"] or name in ("nonumber", "notag", "tag"):
            self._row(is_numbered=bool(token["end"]))
        elif name in self._levels and not token["star"]:
            self._section(name)
        elif name == "appendix":
            self._is_appendix = True
            self._counts.update(dict.fromkeys(self._levels, 0))
        elif name == "caption" and not token["star"]:
            self._caption(token.start())
        elif name == "item":
            self._item(token.end())
        elif name == "label":
            self._label(token)

    def _open(self, environment: str, end: int) -> None:
        self._around.append((environment, self._now, 0 if self._text[end : end + 1] != "[" else -1))
        if environment in _ROWS or environment in ("equation", "multline"):
            self._step("equation")
        elif environment in self._theorems or environment.startswith("sub"):
            self._now = _Label("", "")

    def _number(self, kind: str) -> str:
        """The number of the last of a kind; empty if it is not certain."""
        if kind in self._unknown:
            return ""
        has_chapters = self._levels[0] == "chapter"
        is_section = kind in self._levels
        above = self._levels[: self._levels.index(kind)] if is_section else self._levels[:1] if has_chapters else []
        first, *rest = (self._counts[each] for each in (*above, kind))
        is_letter = self._is_appendix and (is_section or has_chapters)
        if not first or (is_letter and first > 26):
            return ""
        return ".".join([chr(64 + first) if is_letter else str(first), *map(str, rest)])

    def _step(self, kind: str) -> None:
        self._counts[kind] += 1
        self._now = _Label(kind, self._number(kind))

    def _section(self, name: str) -> None:
        at = self._levels.index(name)
        below = (*self._levels[at + 1 :], *(("figure", "table", "equation") if name == "chapter" else ()))
        self._counts.update(dict.fromkeys(below, 0))
        self._step(name)

    def _row(self, *, is_numbered: bool) -> None:
        if self._around and self._around[-1][0] in _ROWS:
            if is_numbered:
                self._step("equation")
            elif self._now and self._now.number:
                self._counts["equation"] -= 1
                self._now = _Label("", "")
        elif not is_numbered and self._around and self._around[-1][0] == "equation":
            self._counts["equation"] -= 1
            self._now = _Label("", "")

    def _caption(self, start: int) -> None:
        names = [environment.rstrip("*") for environment, _, _ in self._around]
        kind = next((_KINDS[name] for name in reversed(names) if name in _KINDS), "")
        if not kind or any(name.startswith("sub") for name in names):
            self._now = _Label("", "")
            return
        self._step(kind)
        if self._now is not None:
            self.captions[start] = self._now

    def _item(self, end: int) -> None:
        lists = [environment for environment, _, _ in self._around if environment == "enumerate"]
        if not self._around or self._around[-1][0] != "enumerate":
            return
        environment, before, count = self._around[-1]
        is_certain = len(lists) == 1 and count >= 0 and self._text[end : end + 1] != "["
        self._around[-1] = (environment, before, count + 1 if is_certain else -1)
        self._now = _Label("item", str(count + 1) if is_certain else "")

    def _label(self, token: re.Match[str]) -> None:
        name = re.compile(r"\s*\{([^{}]{1,400})\}").match(self._text, token.end())
        if name is None:
            return
        label = name[1].strip()
        is_note = self._text[max(0, token.start() - 10) : token.start()].endswith("footnote{")
        is_new = label not in self.labels
        self.labels[label] = self._now if self._now and is_new and not is_note else _Label("", "")


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

# Bibliographies.

_ENTRY = re.compile(r"@[ \t]*(\w+)[ \t]*\{[ \t\n]*([^\s,{}=]*)[ \t\n]*,", re.ASCII)
_STRING = re.compile(r"@[ \t]*string[ \t]*\{[ \t\n]*([\w-]+)[ \t\n]*=[ \t\n]*", re.IGNORECASE)
_FIELD = re.compile(r"[\s,]*([\w:.+-]+)\s*=\s*")
_VALUE = re.compile(r"[^\s,{}#\"]+")
_SHOWN_AS = {"booktitle": "published in", "journal": "published in", "journaltitle": "published in", "date": "date"}
_OF_MANAGERS = frozenset(
    ("file", "timestamp", "bibsource", "biburl", "owner", "groups", "__markedentry", "crossref-key")
)
_TAGGED = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)")
_RIS = {
    **dict.fromkeys(("TI", "T1", "CT"), "title"),
    **dict.fromkeys(("AU", "A1"), "author"),
    **dict.fromkeys(("A2", "ED"), "editor"),
    **dict.fromkeys(("T2", "JO", "JF", "BT"), "published in"),
    **dict.fromkeys(("PY", "Y1", "DA"), "date"),
    **dict.fromkeys(("AB", "N2"), "abstract"),
    "TY": "type",
    "VL": "volume",
    "IS": "issue",
    "SP": "first page",
    "EP": "last page",
    "DO": "doi",
    "UR": "url",
    "SN": "ISSN or ISBN",
    "KW": "keywords",
    "PB": "publisher",
    "CY": "place",
    "LA": "language",
    "N1": "note",
    "ET": "edition",
    "AD": "affiliation",
    "ID": "key",
    "M3": "kind",
    "DB": "database",
    "T3": "series",
}
_KINDS_OF_RIS = {
    "JOUR": "article",
    "BOOK": "book",
    "CHAP": "chapter",
    "CONF": "conference paper",
    "CPAPER": "conference paper",
}
_KINDS_OF_RIS |= {
    "THES": "thesis",
    "RPRT": "report",
    "ELEC": "web page",
    "NEWS": "newspaper",
    "MGZN": "magazine",
    "PAT": "patent",
}
_NBIB = {
    "PMID": "PMID",
    "PMC": "PMC",
    "TI": "title",
    "BTI": "title",
    "FAU": "author",
    "JT": "published in",
    "DP": "date",
    "VI": "volume",
    "IP": "issue",
    "PG": "pages",
    "LID": "doi",
    "AB": "abstract",
    "PT": "type",
    "LA": "language",
    "MH": "subjects",
    "OT": "keywords",
    "AD": "affiliation",
    "GR": "grant",
    "PL": "place",
    "CN": "author",
    "COIS": "conflict of interest",
}


def read_bibtex(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a bibliography of BibTeX or BibLaTeX: a table with a row for each entry, without the marks of TeX.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : encoding and size limit

    Raises
    ------
    MissingExtraError
        pylatexenc is not installed.
    ReadError
        It holds no entry, or is too large.
    """
    with needs_extra("latex", "reading BibTeX"):
        import pylatexenc  # noqa: F401
    text, warnings = decode(origin, data, encoding=options.encoding)
    if len(text) > _LONGEST:
        raise refused(origin, "characters", limit=_LONGEST)
    strings = {match[1].lower(): _value_at(text, match.end(), {})[0] for match in _STRING.finditer(text)}
    rows: list[dict[str, str]] = []
    end = 0
    for match in _ENTRY.finditer(text):
        if match.start() >= end and match[1].lower() not in ("string", "comment", "preamble"):
            row, end = _entry_at(text, match, strings)
            rows.append(row)
    return _references(origin, data, options, rows, warnings)


def _entry_at(text: str, head: re.Match[str], strings: dict[str, str]) -> tuple[dict[str, str], int]:
    """An entry, its title first, and where it ends."""
    values: dict[str, str] = {}
    at = head.end()
    while field := _FIELD.match(text, at):
        value, at = _value_at(text, field.end(), strings)
        name = field[1].lower()
        if name not in _OF_MANAGERS and value:
            is_name = name in ("author", "editor", "translator")
            values.setdefault(_SHOWN_AS.get(name, name), _people(value) if is_name else _without_tex(value))
    title = {"title": values.pop("title")} if "title" in values else {}
    return {**title, "type": head[1].lower(), **values, "key": head[2]}, at


def _value_at(text: str, at: int, strings: dict[str, str]) -> tuple[str, int]:
    """The value of a field, of parts that are joined by ``#``, and where it ends."""
    parts: list[str] = []
    while at < len(text):
        if text[at] == "{":
            end = _closed(text, at, most=len(text))
            end = end if end > 0 else len(text)
            parts.append(text[at + 1 : end - 1])
            at = end
        elif text[at] == '"':
            end, depth = at + 1, 0
            while end < len(text) and (text[end] != '"' or depth > 0):
                depth += (text[end] == "{") - (text[end] == "}")
                end += 1
            parts.append(text[at + 1 : end])
            at = end + 1
        elif plain := _VALUE.match(text, at):
            parts.append(strings.get(plain[0].lower(), plain[0]))
            at = plain.end()
        else:
            break
        joined = re.compile(r"\s*#\s*").match(text, at)
        if joined is None:
            break
        at = joined.end()
    return "".join(parts), at


def _without_tex(value: str) -> str:
    text = " ".join(value.split())
    if re.search(r"[\\$~]", text):
        from pylatexenc.latex2text import LatexNodes2Text

        text = LatexNodes2Text(math_mode="text", strict_latex_spaces=False).latex_to_text(text)
    return " ".join(text.replace("{", "").replace("}", "").replace("--", "–").split())


def _people(value: str) -> str:
    """Names in the order in which they are spoken; a name in braces is one of an organization."""
    names: list[str] = []
    for name in re.split(r"\s+and\s+(?![^{}]{0,200}\})", value.strip()):
        family, *given = [part.strip() for part in re.split(r",(?![^{}]{0,200}\})", name)]
        names.append(
            _without_tex(" ".join([*given[1:2], *given[:1], family]) if len(given) > 1 else " ".join([*given, family]))
        )
    return "; ".join(names)


def read_tagged(origin: Origin, data: bytes, *, options: ReadOptions, labels: Mapping[str, str]) -> Document:
    """The document of a bibliography whose lines have tags: a table with a row for each reference.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : encoding and size limit
    labels : what its tags mean

    Raises
    ------
    ReadError
        It holds no reference, or is too large.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    rows: list[dict[str, str]] = []
    unread = Unread()
    values: dict[str, list[str]] = {}
    for line in [*text.split("\n"), "ER  - "]:
        match = _TAGGED.fullmatch(line.rstrip()) or _TAGGED.fullmatch(f"{line.rstrip()} ")
        last = next(reversed(values), "")
        if match is None:
            if line.strip() and values:
                values[last][-1] += f" {line.strip()}"
            continue
        tag = match[1]
        if tag in ("ER", "TY", "PMID") and values:
            rows.append(_tagged(values, labels, unread))
            values = {}
        if tag != "ER":
            values[tag] = [*values.pop(tag, []), match[2].strip()]
    return _references(origin, data, options, rows, (*warnings, *unread.warnings()))


def _tagged(values: dict[str, list[str]], labels: Mapping[str, str], unread: Unread) -> dict[str, str]:
    row: dict[str, str] = {"title": ""}
    for tag, texts in values.items():
        label = labels.get(tag, tag if labels is _RIS else "")
        kept = [text.removesuffix("[doi]").strip() for text in texts if tag != "LID" or text.endswith("[doi]")]
        if not label:
            unread["tag of a library"] += len(texts)
        elif label in ("author", "editor"):
            names = [" ".join(reversed([part.strip() for part in text.split(",", 1)])) for text in kept]
            row[label] = "; ".join(filter(None, [row.get(label, ""), *names]))
        else:
            text = (
                _KINDS_OF_RIS.get(kept[0], kept[0])
                if kept and label == "type" and labels is _RIS
                else "; ".join(filter(None, kept))
            )
            row[label] = (
                text if not row.get(label) or (label in ("title", "date", "published in") and text) else row[label]
            )
    return {label: text for label, text in row.items() if text}


def _references(
    origin: Origin, data: bytes, options: ReadOptions, rows: list[dict[str, str]], warnings: tuple[str, ...]
) -> Document:
    if not rows:
        raise ReadError(origin.uri, "is empty" if not data.strip() else "holds no reference", "check its suffix")
    produced = Produced(origin, len(data), options.max_bytes)
    return document_of(produced, records_table(rows, produced), metadata={"references": len(rows)}, warnings=warnings)


FORMATS = (
    FileFormat("bibtex", suffixes=(".bib",), read=read_bibtex, mend="check it with biber --tool"),
    FileFormat("latex", suffixes=(".latex", ".tex"), read=read_latex),
    FileFormat("nbib", suffixes=(".nbib",), read=partial(read_tagged, labels=_NBIB), mend="export it again"),
    FileFormat("ris", suffixes=(".ris",), read=partial(read_tagged, labels=_RIS), mend="export it again"),
)
