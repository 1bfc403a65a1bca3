"""Readers of XML for publishing: journal articles (JATS, NLM), editions (TEI), manuals (DocBook, DITA) and e-books (FB2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title, given_title
from hlgraph.read.formats._blocks import Unread, code, document_of, heading, item, lowered, raised
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats._xml import (
    Block,
    Flow,
    Inline,
    attribute,
    below,
    children,
    formula,
    listed,
    lost,
    parsed,
    table,
    tag_of,
)
from hlgraph.read.notation import list_marks
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_EXTRA = "xml"
_FORMS = {
    "order": "decimal",
    "alpha-lower": "lowerLetter",
    "alpha-upper": "upperLetter",
    "roman-lower": "lowerRoman",
    "roman-upper": "upperRoman",
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def read_jats(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of an article: title, abstract, body, notes and, in a section of their own, references.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the size limit

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is no article, is damaged, exceeds a limit, or holds no text.

    References
    ----------
    ANSI/NISO Z39.96-2021, JATS: Journal Article Tag Suite.
    """
    root = _root(origin, data, options, tags=("article", "pmc-articleset"), what="a JATS article")
    produced = Produced(origin, len(data), options.max_bytes)
    flow = Flow(root, produced, blocks=_JATS, inlines=_JATS_INLINES)
    articles = [root] if tag_of(root) == "article" else children(root, "article")
    blocks = [block for article in articles for block in _article(flow, article)]
    title, metadata = _jats_metadata(flow, articles[0]) if articles else ("", {})
    document = document_of(produced, blocks, title=title, metadata=metadata, warnings=flow.unread.warnings())
    return lost(root, document, ignored=_JATS_IGNORED)


def _root(origin: Origin, data: bytes, options: ReadOptions, *, tags: tuple[str, ...], what: str) -> Element:
    if options.encoding:
        text = data.decode(options.encoding, "replace")
        data = text[text.find("?>") + 2 :].encode() if text.startswith("<?xml") else text.encode()
    root = parsed(origin, data, extra=_EXTRA)
    if tag_of(root) not in tags:
        reason = f"is XML whose first element {tag_of(root)!r} is not {what}"
        raise ReadError(origin.uri, reason, "convert it to HTML or Markdown, for example with pandoc")
    return root


def _first(element: Element, *tags: str) -> Element | None:
    return next(iter(below(element, *tags)), None)


def _article(flow: Flow, article: Element) -> Iterator[str]:
    flow.level = 1
    for part in children(article, "front", "front-stub"):
        yield from _front(flow, part)
    flow.level = 1
    for part in children(article, "body", "back", "floats-group"):
        yield from flow.inside(part)
    for part in children(article, "sub-article", "response"):
        yield from _article(flow, part)


def _front(flow: Flow, front: Element) -> Iterator[str]:
    titles = [
        flow.text(each)
        for group in below(front, "title-group")
        for each in children(group, "article-title", "subtitle")
    ]
    yield heading(": ".join(filter(None, titles)), 1)
    for group in below(front, "trans-title-group"):
        yield flow.text(group)
    kept = ("abstract", "trans-abstract", "author-notes", "fn-group", "def-list", "notes", "ack", "funding-statement")
    for part in below(front, *kept):
        yield from _titled(flow, part, tag_of(part).replace("-", " ").capitalize())
    for part in below(front, "license", "copyright-statement"):
        if not children(part, "copyright-statement"):
            yield flow.text(part)


def _titled(flow: Flow, element: Element, name: str = "") -> Iterator[str]:
    """A section with its heading; without one it gets the name."""
    flow.level += 1
    titles = children(element, "title", "head", "label")
    title = " ".join(filter(None, map(flow.text, titles)))
    yield heading(title or name, flow.level)
    yield from flow.inside(element)
    flow.level -= 1


def _section(name: str = "") -> Block:
    return lambda flow, element: _titled(flow, element, name)


def _nothing(_flow: Flow, _element: Element) -> Iterator[str]:
    """Of an element that its parent has read."""
    return iter(())


def _paragraph(flow: Flow, element: Element) -> Iterator[str]:
    yield from flow.inside(element)


def _written_by(flow: Flow, element: Element) -> Iterator[str]:
    yield from (f"— {each.lstrip('-–— ')}" for each in flow.inside(element))


def _label(flow: Flow, element: Element) -> str:
    return " ".join(map(flow.text, children(element, "label")))


def _labelled(flow: Flow, element: Element) -> Iterator[str]:
    """A note with its label at its beginning."""
    first, *rest = [*filter(None, flow.inside(element)), ""]
    yield f"{_label(flow, element)} {first}".strip()
    yield from rest


def _captioned(flow: Flow, element: Element) -> Iterator[str]:
    """The label and the caption of a figure or table, then what it holds."""
    label = _label(flow, element)
    captions = [" ".join(filter(None, flow.inside(each))) for each in children(element, "caption", "head", "figDesc")]
    yield " ".join(filter(None, [label, *captions]))
    yield from flow.inside(element)


def _caption(flow: Flow, element: Element) -> Iterator[str]:
    """Of a caption, if its parent has not read it."""
    parent = element.getparent()
    if parent is None or tag_of(parent) not in _CAPTIONED:
        yield from flow.inside(element)


def _title(flow: Flow, element: Element) -> Iterator[str]:
    """A title that stands alone, such as that of a caption or a box."""
    parent = element.getparent()
    if parent is not None and tag_of(parent) in (
        *_CAPTIONED,
        "caption",
        "def-list",
        "list",
        "boxed-text",
        "verse-group",
    ):
        yield flow.text(element) if tag_of(parent) not in _CAPTIONED else ""


def _jats_list(flow: Flow, element: Element) -> Iterator[str]:
    for title in children(element, "title"):
        yield flow.text(title)
    yield from listed(
        flow, element, entries=("list-item",), marks=list_marks(_FORMS.get(attribute(element, "list-type"), ""))
    )


def _definitions(flow: Flow, element: Element) -> Iterator[str]:
    pairs = (
        [" ".join(map(flow.text, children(entry, name))) for name in ("term", "def")]
        for entry in children(element, "def-item")
    )
    yield "\n".join(item(": ".join(filter(None, pair))) for pair in pairs)


def _references(flow: Flow, element: Element) -> Iterator[str]:
    flow.level += 1
    yield heading(" ".join(map(flow.text, children(element, "title", "head"))) or "References", flow.level)
    entries = (item(_reference(flow, entry)) for entry in children(element, "ref", "bibl", "biblStruct", "biblFull"))
    yield "\n".join(filter(None, entries))
    for inner in children(element, "ref-list", "listBibl"):
        yield from _references(flow, inner)
    flow.level -= 1


_CONTAINERS = (
    *(
        "mixed-citation",
        "citation",
        "element-citation",
        "nlm-citation",
        "person-group",
        "name",
        "string-name",
        "collab",
        "institution",
    ),
    *(
        "analytic",
        "monogr",
        "imprint",
        "author",
        "editor",
        "persName",
        "biblScope",
        "series",
        "bibl",
        "publicationStmt",
        "p",
        "name",
    ),
    *(
        "institution-wrap",
        "citation-alternatives",
        "msDesc",
        "biblStruct",
        "forename",
        "surname",
        "titleStmt",
        "addr-line",
    ),
)


def _reference(flow: Flow, entry: Element) -> str:
    """A reference on one line."""
    cited = children(entry, "mixed-citation", "citation", "element-citation", "nlm-citation", "note", "label") or [
        entry
    ]
    return " ".join(_spaced(flow, each) for each in cited)


def _spaced(flow: Flow, element: Element) -> str:
    """The text of an element, with a space between elements that have no text between them: names, years, volumes."""
    parts = [element.text or ""]
    for child in element:
        is_known = tag_of(child) in _CONTAINERS
        parts += [_spaced(flow, child) if is_known else flow.text(child), child.tail or " "]
    return " ".join("".join(parts).split())


def _note(flow: Flow, element: Element) -> str:
    """A note in its place, in brackets."""
    text = flow.text(element).replace("\n", " ")
    return f" [{text}]" if text else ""


def _listing(_flow: Flow, element: Element) -> Iterator[str]:
    yield code("".join(map(str, element.itertext())))


def _equation(flow: Flow, element: Element) -> Iterator[str]:
    """A displayed formula with its number."""
    label = _label(flow, element)
    text = clean_title(formula(flow, element))
    yield f"{text} {label}".strip() if label not in text else text


def _speech(flow: Flow, element: Element) -> Iterator[str]:
    """What a person says, after the name."""
    name = " ".join(map(flow.text, children(element, "speaker", "from"))).rstrip(".: ")
    first, *rest = [*filter(None, flow.inside(element)), ""]
    yield f"{name}: {first}" if name else first
    yield from rest


def _jats_metadata(flow: Flow, article: Element) -> tuple[str, dict[str, MetadataValue]]:
    front = next(iter(children(article, "front", "front-stub")), None)
    if front is None:
        return "", {}
    group = _first(front, "title-group")
    names: list[str] = []
    for person in below(front, "contrib"):
        given = [flow.text(each) for each in below(person, "given-names", "surname", "collab", "string-name")]
        order = sorted(below(person, "given-names", "surname"), key=lambda each: tag_of(each) != "given-names")
        names.append(" ".join(map(flow.text, order)) or " ".join(given))
    dates = [_jats_date(each) for each in below(front, "pub-date")]
    ids = {attribute(each, "pub-id-type"): flow.text(each) for each in below(front, "article-id")}
    metadata: dict[str, MetadataValue] = {
        "author": tuple(filter(None, names)),
        "affiliation": tuple(dict.fromkeys(_spaced(flow, each) for each in below(front, "aff"))),
        "keywords": tuple(flow.text(each) for each in below(front, "kwd")),
        "subject": tuple(dict.fromkeys(flow.text(each) for each in below(front, "subject"))),
        "journal": flow.text(_first(front, "journal-title")),
        "publisher": flow.text(_first(front, "publisher-name")),
        "volume": flow.text(_first(front, "volume")),
        "issue": flow.text(_first(front, "issue")),
        "pages": "-".join(filter(None, (flow.text(_first(front, name)) for name in ("fpage", "lpage")))),
        "date": min(filter(None, dates), default=""),
        "doi": ids.get("doi", ""),
        "pmid": ids.get("pmid", ""),
        "language": attribute(article, "lang"),
    }
    title = flow.text(None if group is None else _first(group, "article-title"))
    return title, {name: _cleaned(value) for name, value in metadata.items()}


def _jats_date(element: Element) -> str:
    parts = [
        "".join(map(str, each.itertext())).strip() for name in ("year", "month", "day") for each in below(element, name)
    ]
    kept = [parts[0], *(f"{int(part):02}" for part in parts[1:] if part.isdecimal())] if parts else []
    return "-".join(kept)


def _cleaned(value: MetadataValue) -> MetadataValue:
    return tuple(clean(str(each)) for each in value) if isinstance(value, tuple) else clean(str(value))


def read_tei(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of an edition: its text with front and back, notes in their places; its header as metadata.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the size limit

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is no TEI, is damaged, exceeds a limit, or holds no text.

    References
    ----------
    TEI Consortium, TEI P5: Guidelines for Electronic Text Encoding and Interchange.
    """
    root = _root(origin, data, options, tags=("TEI", "TEI.2", "teiCorpus"), what="TEI")
    produced = Produced(origin, len(data), options.max_bytes)
    flow = Flow(root, produced, blocks=_TEI, inlines=_TEI_INLINES)
    title, metadata = _tei_metadata(flow, root)
    abstracts = [block for each in below(root, "abstract") for block in _titled(flow, each, "Abstract")]
    texts = [each for each in below(root, "text") if not any(tag_of(above) == "text" for above in each.iterancestors())]
    described = [block for each in below(root, "sourceDoc", "standOff") for block in flow.inside(each)]
    blocks = [*abstracts, *(block for text in texts for block in flow.inside(text)), *described]
    document = document_of(produced, blocks, title=title, metadata=metadata, part="its text")
    return lost(root, document, ignored=("encodingDesc", "revisionDesc", "profileDesc", "idno", "formula"))


def _tei_metadata(flow: Flow, root: Element) -> tuple[str, dict[str, MetadataValue]]:
    header = _first(root, "teiHeader")
    if header is None:
        return "", {}
    statement = _first(header, "titleStmt")
    scope = header if statement is None else statement
    people = {
        name: tuple(dict.fromkeys(_spaced(flow, each) for each in below(scope, name))) for name in ("author", "editor")
    }
    if not people["author"]:  # GROBID writes them into the source
        names = (_spaced(flow, each) for author in below(header, "author") for each in children(author, "persName"))
        people["author"] = tuple(dict.fromkeys(names))
    published = _first(header, "publicationStmt")
    date = None if published is None else _first(published, "date")
    metadata: dict[str, MetadataValue] = {
        **people,
        "date": "" if date is None else attribute(date, "when") or flow.text(date),
        "publisher": "" if published is None else flow.text(_first(published, "publisher")) or _spaced(flow, published),
        "source": " ".join(_spaced(flow, each) for each in below(header, "sourceDesc"))[:1000],
        "license": flow.text(_first(header, "licence")),
        "language": tuple(attribute(each, "ident") for each in below(header, "language")),
        "keywords": tuple(flow.text(each) for each in below(header, "term")),
    }
    title = flow.text(_first(scope, "title"))
    return title, {name: _cleaned(value) for name, value in metadata.items()}


def _choice(flow: Flow, element: Element) -> str:
    """Of two readings the corrected, regular or expanded one, with the other one in brackets."""
    better = children(element, "corr", "reg", "expan")
    others = [child for child in element if tag_of(child) and child not in better]
    shown = " ".join(map(flow.text, better))
    rest = " ".join(map(flow.text, others))
    return f"{shown} [{rest}]" if shown and rest and rest != shown else shown or rest


def _tei_list(flow: Flow, element: Element) -> Iterator[str]:
    for head in children(element, "head"):
        yield flow.text(head)
    labels = children(element, "label")
    entries = children(element, "item")
    if labels and len(labels) == len(entries):
        pairs = zip(labels, entries, strict=True)
        yield "\n".join(item(f"{flow.text(label).rstrip(':')}: {flow.text(entry)}") for label, entry in pairs)
    else:
        kind = (attribute(element, "rend"), attribute(element, "type"))
        is_ordered = "numbered" in kind or "ordered" in kind
        yield from listed(flow, element, entries=("item", "label"), marks=list_marks("decimal" if is_ordered else ""))


def _head(flow: Flow, element: Element) -> Iterator[str]:
    """Of a head, if its parent has not read it."""
    parent = element.getparent()
    if parent is None or tag_of(parent) not in _HEADED:
        yield from flow.inside(element)


def _tei_table(flow: Flow, element: Element) -> Iterator[str]:
    yield " ".join(map(flow.text, children(element, "head")))
    yield from table(flow, element)


def _verses(flow: Flow, element: Element) -> Iterator[str]:
    """The lines of a stanza as one paragraph of lines."""
    lines = [flow.text(each) for each in children(element, "head", "l", "lg", "title", "v")]
    yield "\n".join(filter(None, lines))


_HEADED = ("div", "div1", "div2", "div3", "div4", "div5", "list", "figure", "listBibl", "lg", "abstract", "table")
_JATS_IGNORED = _names(
    "journal-meta article-id history counts custom-meta-group elocation-id related-article issn contrib-id pub-history sup sub "
    "tex-math math xref object-id season email pub-date volume issue fpage lpage self-uri article-version"
)
_CAPTIONED = ("fig", "table-wrap", "figure", "supplementary-material", "media", "chem-struct-wrap")
_JATS: dict[str, Block] = {
    **dict.fromkeys(("sec", "app", "boxed-text", "glossary", "notes", "bio"), _section()),
    "ack": _section("Acknowledgements"),
    "fn-group": _section("Notes"),
    "abstract": _section("Abstract"),
    **dict.fromkeys(("p", "disp-quote", "verse-line", "sig", "statement", "table-wrap-foot"), _paragraph),
    "attrib": _written_by,
    "title": _title,
    **dict.fromkeys(("label", "object-id"), _nothing),
    "fn": _labelled,
    "caption": _caption,
    **dict.fromkeys(_CAPTIONED, _captioned),
    "table": table,
    "list": _jats_list,
    "def-list": _definitions,
    "ref-list": _references,
    "disp-formula": _equation,
    **dict.fromkeys(("code", "preformat"), _listing),
}
_JATS_INLINES = {
    "inline-formula": formula,
    "label": lambda flow, element: f"{flow.raw(element)} ",
    "break": lambda _flow, _element: "\n",
    "fn": _note,
    "ref-list": lambda flow, element: " ".join(_reference(flow, each) for each in below(element, "ref")),
}
_TEI: dict[str, Block] = {
    **dict.fromkeys(("div", "div1", "div2", "div3", "div4", "div5"), _section()),
    **dict.fromkeys(
        ("p", "ab", "l", "byline", "docAuthor", "dateline", "opener", "closer", "salute", "signed", "trailer"),
        _paragraph,
    ),
    **dict.fromkeys(
        ("titlePart", "stage", "quote", "epigraph", "argument", "castItem", "postscript", "entry"), _paragraph
    ),
    "head": _head,
    "sp": _speech,
    "speaker": _nothing,
    "lg": _verses,
    "table": _tei_table,
    "list": _tei_list,
    "listBibl": _references,
    "figure": _captioned,
    "figDesc": _nothing,
    "formula": _equation,
    **dict.fromkeys(("egXML", "eg"), _listing),
}
_TEI_INLINES = {
    "lb": lambda _flow, element: "" if attribute(element, "break") == "no" else " ",
    "note": _note,
    "choice": _choice,
    "del": lambda flow, element: f"[deleted: {flow.text(element)}]{'' if element.tail else ' '}",
    "gap": lambda _flow, _element: "[…]",
}

# Manuals and e-books.

_DOCBOOK_SECTIONS = _names(
    "part chapter appendix preface section simplesect sect1 sect2 sect3 sect4 sect5 refentry refsect1 refsect2 refsect3 refsection "
    "refsynopsisdiv glossary dedication colophon acknowledgements sidebar topic concept task reference troubleshooting example"
)
_DOCBOOK_ROOTS = _DOCBOOK_SECTIONS | _names("article book set dita glossentry FictionBook")
_DOCBOOK_ABOUT = _names(
    "info bookinfo articleinfo chapterinfo appendixinfo partinfo prefaceinfo sectioninfo sect1info sect2info sect3info "
    "refentryinfo refmeta prolog titleabbrev subtitle indexterm index toc remark description related-links title refnamediv colspec"
)
_REMARKS = _names("caution danger important note notice tip warning")
_MANUAL_IGNORED = _DOCBOOK_ABOUT | _names("binary indexterm primary secondary tertiary")


def read_docbook(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a manual (DocBook, DITA) or of an e-book (FB2): sections, lists, tables, code, notes in their places.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the size limit

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is of another kind, is damaged, exceeds a limit, or holds no text.

    References
    ----------
    OASIS, The DocBook Schema 5.1; OASIS, Darwin Information Typing Architecture 1.3; FictionBook 2.
    """
    root = _root(origin, data, options, tags=tuple(sorted(_DOCBOOK_ROOTS)), what="DocBook, DITA or FB2")
    produced = Produced(origin, len(data), options.max_bytes)
    targets = {attribute(each, "id"): each for each in root.iter("{*}*") if attribute(each, "id")}
    inlines = {**_DOCBOOK_INLINES, "xref": _reference_to(targets), "a": _fb2_link(targets)}
    flow = Flow(root, produced, blocks=_DOCBOOK, inlines=inlines)
    flow.level = int(tag_of(root) == "FictionBook")
    title, metadata = _docbook_metadata(flow, root)
    if tag_of(root) == "FictionBook":
        bodies = [body for body in children(root, "body") if attribute(body, "name") != "notes"]
        abstract = [flow.text(each) for each in below(root, "annotation")]
        blocks = [heading(title, 1), *abstract, *(block for body in bodies for block in flow.inside(body))]
    else:
        blocks = [*_manual_section(flow, root)]
    flow.unread["image"] += len(below(root, "imagedata", "image", "graphic", "binary"))
    flow.unread["index term"] += len(below(root, "indexterm"))
    flow.unread["included file"] += len(below(root, "include"))
    warnings = Unread({kind: count for kind, count in flow.unread.items() if count}).warnings()
    document = document_of(produced, blocks, title=title, metadata=metadata, warnings=warnings)
    return lost(root, document, ignored=_MANUAL_IGNORED)


def _own_title(flow: Flow, element: Element) -> str:
    """The title of a section, which may stand in what is said about it; of a page of a manual, its name and purpose."""
    abouts = [element, *(child for child in element if tag_of(child).endswith("info"))]
    titles = [each for part in abouts for each in children(part, "title")]
    named = [flow.text(each) for part in children(element, "refnamediv") for each in part if tag_of(each)]
    subtitles = [flow.text(each) for part in abouts for each in children(part, "subtitle")]
    title = (
        flow.text(titles[0]) if titles else " - ".join([", ".join(named[:-1]), *named[-1:]]) if len(named) > 1 else ""
    )
    return clean_title(": ".join(filter(None, [title.replace("\n", " "), *subtitles[:1]])))


def _manual_section(flow: Flow, element: Element) -> Iterator[str]:
    flow.level += 1
    yield heading(_own_title(flow, element), flow.level)
    for part in (each for about in element if tag_of(about).endswith("info") for each in children(about, "abstract")):
        yield from flow.inside(part)
    yield from flow.inside(element)
    flow.level -= 1


def _remark(flow: Flow, element: Element) -> Iterator[str]:
    """A warning or a note, after its title or kind, which its sense needs."""
    kind = attribute(element, "type") if tag_of(element) == "note" else tag_of(element)
    name = " ".join(map(flow.text, children(element, "title"))) or (kind if kind in _REMARKS else "note").capitalize()
    first, *rest = [*filter(None, flow.inside(element)), ""]
    yield f"{name}: {first}" if not first.startswith(("-", "|", "```")) else f"{name}:\n\n{first}"
    yield from rest


def _named_paragraph(flow: Flow, element: Element) -> Iterator[str]:
    """Paragraphs, a list or a table after their title."""
    yield " ".join(map(flow.text, children(element, "title", "caption")))
    yield from table(flow, element) if "table" in tag_of(element) else flow.inside(element)


def _manual_list(flow: Flow, element: Element) -> Iterator[str]:
    yield " ".join(map(flow.text, children(element, "title")))
    is_ordered = tag_of(element) in ("orderedlist", "procedure", "steps", "substeps", "ol")
    entries = ("listitem", "step", "substep", "member", "li", "sli", "callout", "choice")
    yield from listed(flow, element, entries=entries, marks=list_marks("decimal" if is_ordered else ""))


def _terms(flow: Flow, element: Element) -> Iterator[str]:
    """Terms and what is said of each, which may be more than a line."""
    yield " ".join(map(flow.text, children(element, "title")))
    for entry in children(element, "varlistentry", "glossentry", "dlentry", "plentry", "glossdiv"):
        if tag_of(entry) == "glossdiv":
            yield from _terms(flow, entry)
            continue
        terms = ", ".join(map(flow.text, children(entry, "term", "glossterm", "dt", "pt")))
        parts = [part for each in children(entry, "listitem", "glossdef", "dd", "pd") for part in flow.inside(each)]
        first, *rest = [*filter(None, parts), ""]
        is_line = not first.startswith(("-", "|", "```", "1."))
        yield item(f"{terms}: {first}" if is_line else f"{terms}:", depth=flow.depth)
        yield from ["" if is_line else first, *rest]


def _questions(flow: Flow, element: Element) -> Iterator[str]:
    question = " ".join(filter(None, (text for each in children(element, "question") for text in flow.inside(each))))
    yield f"**Q:** {question}"
    for answer in children(element, "answer"):
        first, *rest = [*filter(None, flow.inside(answer)), ""]
        yield f"**A:** {first}"
        yield from rest


def _simple_table(flow: Flow, element: Element) -> Iterator[str]:
    rows = [
        [Cell(flow.text(cell).replace("\n", " "), is_head=tag_of(row) == "sthead") for cell in children(row, "stentry")]
        for row in children(element, "sthead", "strow")
    ]
    yield Grid(rows, produced=flow.produced).markdown()


def _reference_to(targets: dict[str, Element]) -> Inline:
    """The words of a cross-reference: its own, else the title of what it leads to."""

    def inline(flow: Flow, element: Element) -> str:
        target = targets.get(attribute(element, "linkend") or attribute(element, "href").rpartition("/")[2].lstrip("#"))
        title = "" if target is None else attribute(target, "xreflabel") or _own_title(flow, target)
        return flow.raw(element) if (element.text or "").strip() else f"“{title}”" if title else ""

    return inline


def _fb2_link(targets: dict[str, Element]) -> Inline:
    """A link, or the note to which it leads, in its place."""

    def inline(flow: Flow, element: Element) -> str:
        target = targets.get(attribute(element, "href").lstrip("#")) if attribute(element, "type") == "note" else None
        texts = [] if target is None else [flow.text(each) for each in target if tag_of(each) not in ("", "title")]
        return f" [{' '.join(filter(None, texts))}]" if any(texts) else flow.raw(element)

    return inline


def _address(flow: Flow, element: Element) -> str:
    address = attribute(element, "url") or attribute(element, "href")
    return flow.raw(element) if flow.raw(element).strip() or address.startswith("#") else address


def _menu(flow: Flow, element: Element) -> str:
    return " > ".join(filter(None, (flow.text(each) for each in element if tag_of(each) not in ("", "shortcut"))))


def _docbook_metadata(flow: Flow, root: Element) -> tuple[str, dict[str, MetadataValue]]:
    infos = [each for each in root if tag_of(each).endswith("info") or tag_of(each) in ("prolog", "description")]
    kept = [each for info in infos for each in info.iter("{*}*")]

    def first(*names: str) -> str:
        return next((flow.text(each) for each in kept if tag_of(each) in names and flow.text(each)), "")

    people = [each for each in kept if tag_of(each) == "author"]
    parts = ("firstname", "first-name", "middle-name", "othername", "surname", "last-name")
    names = [" ".join(map(flow.text, below(each, *parts))) or flow.text(each) for each in people]
    title = first("book-title") if tag_of(root) == "FictionBook" else _own_title(flow, root)
    metadata: dict[str, MetadataValue] = {
        "author": tuple(dict.fromkeys(filter(None, names))),
        "date": first("pubdate", "date"),
        "publisher": first("publishername", "publisher"),
        "version": first("releaseinfo", "edition"),
        "language": attribute(root, "lang") or first("lang"),
    }
    return title, {name: _cleaned(value) for name, value in metadata.items()}


_DOCBOOK: dict[str, Block] = {
    **dict.fromkeys(_DOCBOOK_SECTIONS, _manual_section),
    **dict.fromkeys(_DOCBOOK_ABOUT, _nothing),
    **dict.fromkeys(
        (
            "para",
            "simpara",
            "p",
            "shortdesc",
            "cmd",
            "stepxmp",
            "stepresult",
            "v",
        ),
        _paragraph,
    ),
    **dict.fromkeys(("text-author", "attribution"), _written_by),
    **dict.fromkeys(
        ("formalpara", "figure", "informalfigure", "equation", "fig", "table", "informaltable"), _named_paragraph
    ),
    **dict.fromkeys(_REMARKS, _remark),
    **dict.fromkeys(
        ("itemizedlist", "orderedlist", "procedure", "simplelist", "steps", "substeps", "steps-unordered"), _manual_list
    ),
    **dict.fromkeys(("ol", "ul", "sl", "calloutlist", "choices"), _manual_list),
    **dict.fromkeys(("variablelist", "glosslist", "dl", "parml"), _terms),
    "qandaentry": _questions,
    "info": lambda flow, element: flow.inside(element) if tag_of(element.getparent()).endswith("step") else iter(()),
    **dict.fromkeys(("simpletable", "choicetable", "properties"), _simple_table),
    **dict.fromkeys(
        ("programlisting", "screen", "literallayout", "synopsis", "codeblock", "pre", "msgblock"), _listing
    ),
    **dict.fromkeys(("stanza", "lg"), _verses),
}
_DOCBOOK_INLINES: dict[str, Inline] = {
    **dict.fromkeys(("footnote", "fn"), _note),
    **dict.fromkeys(("ulink", "link"), _address),
    **dict.fromkeys(("menuchoice", "menucascade"), _menu),
    **dict.fromkeys(("indexterm", "remark", "colspec", "binary"), lambda _flow, _element: ""),
    "subscript": lambda flow, element: lowered(flow.text(element)),
    "superscript": lambda flow, element: raised(flow.text(element)),
    "quote": lambda flow, element: f"“{flow.text(element)}”",
    "q": lambda flow, element: f"“{flow.text(element)}”",
}

# Laws, drug labels, health records and RFCs, which the format "xml" recognises by their first element.

_CLAUSES = _names(
    "alinea appendix article attachment book chapter clause debateSection division hcontainer indent item level note paragraph "
    "part point proviso quoted-block recital recitals rule section subchapter subclause subdivision subitem subparagraph "
    "subpart subsection subtitle tome"
)
_NUMBERS, _HEADS = ("num", "enum", "caption", "marker"), ("heading", "header", "title", "name", "subheading")
_PROSE_ROOTS = {  # each with what tells it from other XML
    **dict.fromkeys(
        ("bill", "resolution", "amendment-doc", "uscDoc", "lawDoc", "pLaw", "statute"),
        ("legis-body", "resolution-body", "amendment-body", "engrossed-amendment-body", "main"),
    ),
    **dict.fromkeys(("document", "ClinicalDocument"), ("structuredBody",)),
    "akomaNtoso": ("meta",),
    "rfc": ("middle",),
}


def prose_documents(root: Element, produced: Produced) -> Iterator[Document]:
    """The document of a law, a drug label, a health record or an RFC, those of the articles of PubMed; none of other XML.

    Parameters
    ----------
    root : the first element of the file
    produced : names the file and counts the text

    Raises
    ------
    ReadError
        It exceeds a limit, or holds no text.

    References
    ----------
    OASIS, Akoma Ntoso 1.0; United States Legislative Markup; RFC 7749 and RFC 7991; HL7, Structured Product Labeling and
    Clinical Document Architecture, release 2.
    """
    origin = produced.origin
    if tag_of(root) == "PubmedArticleSet":
        for number, article in enumerate(children(root, "PubmedArticle", "PubmedBookArticle"), 1):
            yield _cited_article(Origin(f"{origin.uri}#{number}", origin.name), article, produced)
    if tag_of(root) not in _PROSE_ROOTS or not below(root, *_PROSE_ROOTS[tag_of(root)]):
        return
    for each in [*root.iter(*(f"{{*}}{name}" for name in _PROSE_ABOUT))]:
        if _is_in_line(each):
            each.tag = "inline"
    anchors = {attribute(each, "anchor"): each for each in root.iter("{*}*") if attribute(each, "anchor")}
    flow = Flow(root, produced, blocks=_PROSE, inlines={**_PROSE_INLINES, "xref": _xref(anchors)})
    title, metadata = _prose_metadata(flow, root)
    metadata = {"filename": origin.name, **metadata} if origin.name else metadata
    blocks = [heading(title, 1), *flow.inside(root)]
    document = document_of(produced, blocks, title=title, metadata=metadata, warnings=flow.unread.warnings())
    yield lost(root, document, ignored=_PROSE_IGNORED)


def _cited_article(origin: Origin, article: Element, produced: Produced) -> Document:
    """What PubMed says of an article: its title, the parts of its abstract with their names; people, journal, date and ids."""
    flow = Flow(article, produced, blocks={}, inlines={})
    parts = [
        (attribute(each, "Label"), flow.text(each)) for each in below(article, "AbstractText", "OtherAbstractText")
    ]
    pmid = flow.text(_first(article, "PMID"))
    titles = (flow.text(_first(article, name)) for name in ("ArticleTitle", "VernacularTitle", "BookTitle"))
    title = clean_title(next(filter(None, titles), f"PubMed {pmid}"))
    date = _first(article, "PubDate")
    parts_of_names = ("CollectiveName", "ForeName", "LastName")
    names = [" ".join(map(flow.text, below(each, *parts_of_names)[::-1])) for each in below(article, "Author")]
    metadata: dict[str, MetadataValue] = {
        "filename": origin.name or "",
        "author": tuple(names) or (),
        "journal": flow.text(None if (journal := _first(article, "Journal")) is None else _first(journal, "Title")),
        "date": "" if date is None else _day(*(flow.text(_first(date, name)) for name in ("Year", "Month", "Day"))),
        "pmid": pmid,
        "keywords": tuple(map(flow.text, below(article, "DescriptorName", "Keyword"))),
    }
    blocks = [heading(title, 1), *(f"{name}: {text}" if name else text for name, text in parts)]
    kept = {name: _cleaned(value) for name, value in metadata.items() if value}
    document = document_of(produced, blocks, title=title, metadata=kept)
    return replace(lost(article, document, ignored=("ISOAbbreviation", "MedlineJournalInfo")), uri=origin.uri)


def _day(year: str, month: str, day: str) -> str:
    """A date as ISO 8601 writes it, with as many parts as are given; months are numbers or English names."""
    place = _MONTHS.find(month[:3].lower())
    number = month if month.isdecimal() else f"{place // 3 + 1}" if month and place >= 0 else ""
    return "-".join(
        [year, *([f"{int(number):02}"] if number else []), *([f"{int(day):02}"] if number and day.isdecimal() else [])]
    )


_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"


def _clause(flow: Flow, element: Element) -> Iterator[str]:
    """A section below its heading, or the text of a clause as an item with its number and with the clauses inside of it."""
    number = " ".join(map(flow.text, children(element, *_NUMBERS)))
    heads = [attribute(element, "title"), *map(flow.text, children(element, *_HEADS))]
    title = " ".join(filter(None, heads))
    flow.level += bool(title)
    depth, flow.depth = flow.depth, 0 if title else flow.depth + bool(number or tag_of(element) == "item")
    if flow.depth <= depth:
        yield heading(f"{number} {title}".strip(), flow.level) if title else ""
        yield from flow.inside(element)
    else:
        first, *rest = [*filter(None, flow.inside(element)), ""]
        is_inner = _ITEM.match(first) is not None
        lines = [item(number if is_inner else f"{number} {first}".strip(), depth=depth), first if is_inner else ""]
        for block in filter(None, rest):
            lines.append(block if _ITEM.match(block) else f"\n{'  ' * flow.depth}{block}")
        yield "\n".join(filter(None, lines))
    flow.level -= bool(title)
    flow.depth = depth


_ITEM = re.compile(r"\s*- ")


def _items(flow: Flow, element: Element) -> Iterator[str]:
    """A list whose items are elements; in an RFC of the older form they are paragraphs, with their terms as attributes."""
    is_ordered = attribute(element, "listType") == "ordered" or attribute(element, "style").startswith(
        ("number", "letter")
    )
    if not children(element, "item", "t"):
        yield from _clause(flow, element)
        return
    for name in children(element, "caption", "blockListIntroduction"):
        yield flow.text(name)
    lines: list[str] = []
    for number, entry in enumerate(children(element, "item", "t"), 1):
        term = attribute(entry, "hangText")
        mark = f"{number}." if is_ordered and not children(entry, *_NUMBERS) else ""
        flow.depth += 1
        first, *rest = [*filter(None, flow.inside(entry)), ""]
        flow.depth -= 1
        label = " ".join(
            filter(None, [*map(flow.text, children(entry, *_NUMBERS)), f"{term.rstrip(':')}:" if term else ""])
        )
        lines.append(item(f"{label} {first}".strip(), marker=mark or "-", depth=flow.depth))
        lines += [block if _ITEM.match(block) else f"\n{'  ' * (flow.depth + 1)}{block}" for block in rest if block]
    yield "\n".join(lines)


def _columns(flow: Flow, element: Element) -> Iterator[str]:
    """A table of an RFC of the older form: labels, then cells from left to right."""
    labels = [Cell(flow.text(each), is_head=True) for each in children(element, "ttcol")]
    cells = [Cell(flow.text(each)) for each in children(element, "c")]
    yield " ".join(filter(None, [attribute(element, "title"), *map(flow.text, children(element, "preamble"))]))
    rows = [cells[at : at + len(labels)] for at in range(0, len(cells), len(labels))] if labels else []
    yield Grid([labels, *rows], produced=flow.produced).markdown()
    yield " ".join(map(flow.text, children(element, "postamble")))


def _pairs(flow: Flow, element: Element) -> Iterator[str]:
    """Terms, and what is said of each as an item with its term."""
    term, lines = "", list[str]()
    for each in children(element, "dt", "dd"):
        if tag_of(each) == "dt":
            term = flow.text(each).rstrip(": ")
            continue
        flow.depth += 1
        first, *rest = [*filter(None, flow.inside(each)), ""]
        flow.depth -= 1
        lines.append(item(f"{term}: {first}", depth=flow.depth))
        lines += [block if _ITEM.match(block) else f"\n{'  ' * (flow.depth + 1)}{block}" for block in rest if block]
    yield "\n".join(lines)


def _named_table(flow: Flow, element: Element) -> Iterator[str]:
    yield " ".join(map(flow.text, children(element, "caption", "name")))
    yield from table(flow, element)


def _cited(flow: Flow, element: Element) -> Iterator[str]:
    """A source that an RFC names, on one line."""
    people = [attribute(each, "fullname") or flow.text(each) for each in below(element, "author")]
    dates = [
        " ".join(filter(None, (attribute(each, "month"), attribute(each, "year")))) for each in below(element, "date")
    ]
    series = [f"{attribute(each, 'name')} {attribute(each, 'value')}" for each in below(element, "seriesInfo")]
    parts = [", ".join(people), *map(flow.text, below(element, "title")[:1]), *dict.fromkeys(series), *dates[:1]]
    parts += map(flow.text, below(element, "annotation"))
    yield item(f"[{attribute(element, 'anchor')}] {'. '.join(filter(None, parts))}")


def _xref(anchors: dict[str, Element]) -> Inline:
    """The words of a reference of an RFC: its own, the section, or the source that it names."""

    def inline(flow: Flow, element: Element) -> str:
        target = attribute(element, "target")
        named = anchors.get(target)
        titles = [] if named is None else [attribute(named, "title"), *map(flow.text, children(named, "name"))]
        title = next(filter(None, titles), "") if named is not None and tag_of(named) != "reference" else ""
        return flow.raw(element) if (element.text or "").strip() else f"“{title}”" if title else f"[{target}]"

    return inline


def _prose_metadata(flow: Flow, root: Element) -> tuple[str, dict[str, MetadataValue]]:
    names = [each for each in below(root, "FRBRalias") if attribute(each, "value")]
    front = _first(root, "front")
    scope = root if front is None else front
    own = children(root, "title") or ([] if front is None else children(front, "title"))
    titles = [given_title(attribute(each, "value")) for each in names]
    titles += map(flow.text, own or below(root, "docTitle", "short-title", "shortTitle", "official-title", "longTitle"))
    for each in below(root, "dublinCore"):
        titles[:0] = map(flow.text, children(each, "title"))
    dates = [attribute(each, "date") for each in below(root, "FRBRWork") for each in below(each, "FRBRdate")]
    dates += [attribute(each, "value")[:8] for each in children(root, "effectiveTime")]
    dates += [f"{each[:4]}-{each[4:6]}-{each[6:]}" for each in dates if each.isdecimal() and len(each) == 8]
    if front is not None:
        given = [
            (attribute(each, "year"), attribute(each, "month"), attribute(each, "day"))
            for each in children(front, "date")
        ]
        dates += [_day(*each) for each in given]
    people = [attribute(each, "fullname") for each in children(scope, "author")]
    people += [flow.text(each) for part in children(root, "author") for each in below(part, "representedOrganization")]
    metadata: dict[str, MetadataValue] = {
        "author": tuple(dict.fromkeys(filter(None, people))),
        "date": next(iter(reversed([each for each in dates if each])), ""),
    }
    return clean_title(next(filter(None, titles), "")), {
        name: _cleaned(value) for name, value in metadata.items() if value
    }


_PROSE_ABOUT = _names(
    "meta num enum heading header subheading name FRBRalias id code effectiveTime setId versionNumber confidentialityCode "
    "languageCode templateId typeId realmCode author custodian legalAuthenticator authenticator informant "
    "dataEnterer documentationOf componentOf entry subject metadata toc iref ttcol c link region participant relatedDocument "
    "authorization informationRecipient inFulfillmentOf date area workgroup keyword seriesInfo speaker from distribution-code"
)
_PROSE_IGNORED = _names("meta metadata toc iref")
_LINES_OF_TEXT = _names("p t td th li content sourceCredit")


def _is_in_line(element: Element) -> bool:
    """Whether an element is part of a sentence: in a line of text, or with text beside it: "on <date>1 May</date> the"."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return False
    beside = (element.tail, parent.text if before is None else before.tail)
    return tag_of(parent) in _LINES_OF_TEXT or any((text or "").strip() for text in beside)


def _loose_head(flow: Flow, element: Element) -> Iterator[str]:
    """The number or heading of a part that is no clause, which reads its own."""
    if _PROSE.get(tag_of(element.getparent())) not in (_clause, _items, _named_table):
        yield heading(flow.text(element), flow.level + 1) if "head" in tag_of(element) else flow.text(element)


def _drawing(flow: Flow, element: Element) -> Iterator[str]:
    yield attribute(element, "title")
    yield from flow.inside(element)


def _patient(flow: Flow, element: Element) -> Iterator[str]:
    """Whose health record it is."""
    for name in (name for patient in below(element, "patient") for name in children(patient, "name")):
        yield f"Patient: {' '.join(map(flow.text, name)) or flow.text(name)}"


_PROSE: dict[str, Block] = {
    **dict.fromkeys(_CLAUSES, _clause),
    **dict.fromkeys(_PROSE_ABOUT, _nothing),
    "title": lambda flow, element: _clause(flow, element) if children(element, "num", "heading") else iter(()),
    "caption": _nothing,
    **dict.fromkeys(("num", "enum", "heading", "header", "subheading", "name"), _loose_head),
    "figure": _drawing,
    "list": _items,
    "blockList": _items,
    **dict.fromkeys(
        _names(
            "p text t sourceCredit intro listIntroduction listWrapUp wrapUp chapeau continuation longTitle formula crossHeading "
            "preamble postamble official-title action-date action-desc legis-type legis-num congress session current-chamber"
        ),
        _paragraph,
    ),
    **dict.fromkeys(("speech", "question", "answer"), _speech),
    "references": _section("References"),
    "reference": _cited,
    "recordTarget": _patient,
    "abstract": _section("Abstract"),
    "table": _named_table,
    "texttable": _columns,
    "dl": _pairs,
    **dict.fromkeys(("ul", "ol"), _manual_list),
    **dict.fromkeys(("artwork", "sourcecode"), _listing),
}
_PROSE_INLINES: dict[str, Inline] = {
    "authorialNote": _note,
    "footnote": _note,
    "eref": _address,
    "br": lambda _flow, _element: "\n",
    "eol": lambda _flow, _element: "\n",
    "quote": lambda flow, element: f"“{flow.text(element)}”",
    "remark": lambda flow, element: f"[{flow.text(element).strip('[]')}]",
}

FORMATS = (
    FileFormat("dita", suffixes=(".dita",), read=read_docbook, mend="check it with xmllint"),
    FileFormat("docbook", suffixes=(".dbk", ".docbook"), read=read_docbook, mend="check it with xmllint"),
    FileFormat("fb2", suffixes=(".fb2",), read=read_docbook, mend="check it with xmllint"),
    FileFormat("jats", suffixes=(".jats", ".nxml"), read=read_jats, mend="check it with xmllint"),
    FileFormat("tei", suffixes=(".tei",), read=read_tei, mend="check it with xmllint"),
)
