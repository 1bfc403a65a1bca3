"""Readers of scholarly XML: journal articles (JATS, NLM) and editions (TEI)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title
from hlgraph.read.formats._blocks import code, document_of, heading, item
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats._xml import (
    Block,
    Flow,
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
    name = " ".join(map(flow.text, children(element, "speaker"))).rstrip(".: ")
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
    lines = [flow.text(each) for each in children(element, "head", "l", "lg")]
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
    **dict.fromkeys(("p", "disp-quote", "attrib", "verse-line", "sig", "statement", "table-wrap-foot"), _paragraph),
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

FORMATS = (
    FileFormat("jats", suffixes=(".jats", ".nxml"), read=read_jats, mend="check it with xmllint"),
    FileFormat("tei", suffixes=(".tei",), read=read_tei, mend="check it with xmllint"),
)
