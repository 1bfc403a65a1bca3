"""Reader of HTML pages: the main text as Markdown, without navigation and other boilerplate, with trafilatura."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import MOST_ELEMENTS, Produced, refused
from hlgraph.read.content import Origin, clean, clean_title, decode, given_title, marked_encoding
from hlgraph.read.formats._blocks import count_words, is_title_line, unsaid, unsaid_warning, with_turns
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats._page import (
    BOLD_STYLE,
    MAY_ASK,
    STRIPPED,
    head_articles,
    lead_parts,
    list_items_of_word,
    name_writers,
    remove,
    remove_asking,
    show_boxes,
    show_fields,
    shown_words,
    sign_of,
    write_styles,
)
from hlgraph.read.notation import MARKS, marked_facts, mathml, shifted, unmarked
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import WIDEST, Cell, Grid
from hlgraph.records import Detail, Document, MetadataValue
from hlgraph.text import words

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from trafilatura.settings import Document as ExtractedPage

_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,99}encoding=["']([\w.:-]+)""", re.I
)
_TITLE_PARTS = re.compile(r"\s*[|·»]\s*|\s+[–—:-]\s+")
_FIELDS = ("author", "date", "url", "description")
_QUOTED = re.compile(r"^((?:- )?)\\>", re.MULTILINE)
_MARKED = re.compile(r"^(?:#+ |\||- |\d+\. )", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\[\]])")
_LONG_TAG = re.compile(r"<[a-zA-Z][^<]{65536,}")
_ATTRIBUTE = re.compile(r"[\s/\"'][^\s\"'<>/=]+=")
_FEWEST_BLOCKS = 5  # texts of a page that is not one line
_SHORT = 250  # characters of a main part beside which the extraction looks by default
_MOST_LOST = 0.2  # of the words of paragraphs, lists, tables and headings
_MOST_LOST_OF_MAIN = 0.1
_MOST_ATTRIBUTES = 1000  # per element; parsing time grows with their square


def read_html(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a page: its main text, its title, and the author, date, url and description that it declares.

    Parameters
    ----------
    origin : the file; its stem is the title if the page has none
    data : the bytes of the page
    options : ``encoding`` overrides the byte order mark and the declared encoding

    Raises
    ------
    MissingExtraError
        trafilatura is not installed.
    ReadError
        The page cannot be decoded, has no main text, or holds more than a million elements or cells of tables.
    """
    with needs_extra("html", "reading HTML"):
        import trafilatura  # noqa: F401
    page = main_text(origin, data, encoding=options.encoding, produced=Produced(origin, len(data), options.max_bytes))
    if not page.text:
        raise ReadError(
            origin.uri, "no main text was found in the page", "read it with --format text to keep all of it"
        )
    return Document(
        uri=origin.uri,
        text=page.text,
        title=page.title or clean_title(origin.stem),
        metadata=page.metadata,
        warnings=page.warnings,
        details=page.details,
    )


class Page(NamedTuple):
    """The main text and metadata of a page.

    Attributes
    ----------
    text : its main text, empty if it has none
    title : its title, empty if it declares none
    metadata : the fields that it declares
    warnings : about its encoding
    details : what inline XBRL says of the numbers in the text
    """

    text: str
    title: str
    metadata: dict[str, MetadataValue]
    warnings: tuple[str, ...]
    details: tuple[Detail, ...] = ()


def main_text(
    origin: Origin,
    data: bytes,
    *,
    encoding: str | None,
    produced: Produced,
    is_whole: bool = False,
    mark_quotes: bool = False,
) -> Page:
    """The main text of a page as Markdown.

    Parameters
    ----------
    origin : the file, named in errors
    data : the bytes of the page
    encoding : overrides the byte order mark and the declared encoding; None uses these, else a guess from the bytes
    produced : counts the text, and the cells of tables before they are built
    is_whole : whether all of the page is its main text, as in a chapter of a book, default False
    mark_quotes : begin each paragraph of a quotation with ``>``, as in mail, default False

    Returns
    -------
    Page

    Raises
    ------
    ReadError
        The page cannot be decoded, or exceeds a limit of :mod:`hlgraph.read.bounds`.
    """
    from trafilatura import load_html
    from trafilatura.xpaths import BODY_XPATH

    page, warnings = decode(origin, data, encoding=encoding or marked_encoding(data) or declared_encoding(data))
    _check_markup(origin, page)
    if not re.search("<html", page, re.IGNORECASE):
        page = f"<html><body>{page}</body></html>"  # trafilatura accepts whole pages only
    extracted, text, lost, declared, facts, first = None, "", list[str](), "", list[tuple[str, str]](), ""
    tree = load_html(page)
    if tree is not None:
        declared = str(tree.findtext(".//head/title") or "")
        facts = marked_facts(tree) if "<ix:" in page and not MARKS.search(page) else []
        for header in list(tree.iter("ix:header")):
            remove(header)
        is_plain = not is_whole and _is_plain(tree)
        if mark_quotes:
            _mark_quotes(tree)
        _free_lists(tree, is_plain=is_plain)
        of_site = tree.xpath("//header[not(ancestor::article or ancestor::main)]//h1")
        _simplify(tree, produced)
        first = _only_heading(tree, of_site)
        main = next((part for find in BODY_XPATH for part in find(tree) if _shown(part)), None)
        if is_whole or main is None or _is_one_of_many(main):
            _make_article(tree)
        _free(tree.find("body") if main is None else main)
        if is_whole:
            _keep_all(tree)
        extracted, text, lost = _extracted(tree)
        is_flat = "\n" not in text and len(_content(tree)) >= _FEWEST_BLOCKS and not _loses_much(_content(tree), text)
        main = _main_part(tree, is_plain=is_plain or is_flat) if (lost or is_flat) and not is_whole else None
        if main is not None and (is_flat or _loses_much(_content(main), text)):
            least = _shown(main) / 2
            for part in list(main.iter("aside", "div", "nav", "ol", "section", "ul")):
                if _AROUND.search(part.get("class", "")) and _shown(part) < least:
                    remove(part)
            _make_article(main)
            _keep_all(main)
            second = _extracted(main)
            extracted, text, lost = second if second[1] or not is_flat else (extracted, text, lost)
    text = _QUOTED.sub(r"\1>", text) if mark_quotes else with_turns(text)
    text, details = unmarked(text, facts)
    produced.add(text)
    shown = [MARKS.sub("", part) for part in lost] if facts else lost
    warnings += unsaid_warning(shown, "beside the main text ", "; --format text reads them") if text else ()
    values = {name: clean(str(getattr(extracted, name, None) or "")) for name in _FIELDS}
    values["author"] = values["author"].partition(" · ")[0]  # "Ada Bell · Updated"
    guess = given_title(clean_title(clean(str(extracted.title or "")))) if extracted else ""
    title = _title(guess or first, given_title(clean_title(clean(declared))))
    title = first if first and first in _TITLE_PARTS.split(clean_title(clean(declared)))[:-1] else title
    title = MARKS.sub("", title) if facts else title
    return Page(text, title, {name: value for name, value in values.items() if value}, warnings, details)


def _is_one_of_many(part: HtmlElement) -> bool:
    """Whether a part is an article beside others, as on the first page of a blog or of a shop, or a message among others."""
    kind = part.get("class", "")
    same = (each for each in part.getroottree().iter(part.tag) if kind and each.get("class") == kind)
    is_small = 2 * _shown(part) < sum(map(_shown, same))
    return is_small or (part.tag == "article" and any(each.tag == "article" for each in part.itersiblings()))


def _extracted(tree: HtmlElement) -> tuple[ExtractedPage | None, str, list[str]]:
    """The extraction of a page, its text, and the parts of the page that it lost.

    The first way does not look beside the main part. If it loses much, the second does so. It does not count if it takes words
    without the headings, lists and tables that the first found.
    """
    parts = _content(tree)
    best: tuple[ExtractedPage | None, str, list[str]] = (None, "", parts)
    for least in (1, _SHORT):
        extracted = _extraction(deepcopy(tree), least)
        text = clean(str(extracted.text or "")).replace(_EMPTY, "").strip() if extracted else ""
        lost = unsaid(parts, text)
        is_flat = _MARKED.search(best[1]) is not None and not _MARKED.search(text)
        if not best[1] or (count_words(lost) < count_words(best[2]) and not is_flat):
            best = extracted, _ESCAPED.sub(r"\1", text), lost
        if text and count_words(lost) <= _MOST_LOST * count_words(parts):
            break
    return best


def _extraction(tree: HtmlElement, least: int) -> ExtractedPage | None:
    """The extraction, which looks beside the main part if that has less than ``least`` characters."""
    from trafilatura import bare_extraction
    from trafilatura.settings import use_config

    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", str(least))
    extracted: ExtractedPage | None = bare_extraction(
        tree,
        favor_recall=True,  # keeping a menu costs less than losing a section
        include_comments=False,
        include_formatting=True,  # headings, lists and tables as Markdown
        with_metadata=True,
        config=config,
        # only what the page declares: an extensive search guesses from the prose, relative to today's date
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    return extracted


def _is_plain(tree: HtmlElement) -> bool:
    """Whether no part of a page looks like a menu, a side bar, a footer or comments, by its tag, role, class or id."""
    parts = tree.iter("aside", "div", "footer", "header", "nav", "ol", "section", "table", "td", "ul")
    return not any(_is_beside(part) or part.get("role") for part in parts)


def _main_part(tree: HtmlElement, *, is_plain: bool) -> HtmlElement | None:
    """The page with only the part that it declares as its main one; the page itself if it is plain; None for others.

    Parameters
    ----------
    tree : the page, which changes
    is_plain : whether nothing in it looks like a menu, a side bar or a footer
    """
    parts = tree.xpath(_MAIN)
    body = tree.find("body")
    if len(parts) != 1 or body is None:
        return tree if is_plain else None
    del body[:]
    parts[0].tail = None
    body.append(parts[0])
    return tree


def _loses_much(parts: Sequence[str], text: str) -> bool:
    """Whether more than a tenth of the words of these parts are not in the text."""
    own = Counter(word for part in parts for word in words(part))
    return (own - Counter(words(text))).total() > _MOST_LOST_OF_MAIN * own.total()


def _check_markup(origin: Origin, page: str) -> None:
    """Refuse a page with more than a million elements, or more than 1,000 attributes in one element, before it is parsed.

    The parser itself stops at 255 nested elements.
    """
    if page.count("<") - page.count("</") > MOST_ELEMENTS:
        raise refused(origin, "elements", limit=MOST_ELEMENTS)
    for match in _LONG_TAG.finditer(page):
        if len(_ATTRIBUTE.findall(match[0])) > _MOST_ATTRIBUTES:
            raise refused(origin, "attributes in one element", limit=_MOST_ATTRIBUTES)


# Markup that the extraction would drop, and with it words, is made simpler before.


_INLINE = re.compile(
    "abbr|acronym|bdi|bdo|big|cite|data|dfn|font|ins|kbd|label|mark|meter|nobr|output|progress|rb|rbc|rtc|ruby|samp|small|span"
    "|strike|time|tt|u|var|wbr"
)
_PARAGRAPHS = ("address", "figcaption", "legend", "summary")
_CONTAINERS = ("aside", "center", "details", "dialog", "fieldset", "figure", "hgroup", "marquee", "search")
_LOOSE = ("article", "body", "div", "footer", "header", "main", "section")  # may hold text beside blocks
_STRUCK = re.compile(r"line-through")
_BLOCKS = frozenset(["p", "div", "ul", "ol", "dl", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote"])
_EMPTY = "\u2063"  # in an empty label: the extraction drops a header without text
_KNOWN_TAG = re.compile(r"[a-z][a-z0-9]*")


def _simplify(tree: HtmlElement, produced: Produced) -> None:
    """Replace elements that the extraction drops by those that it keeps, in place.

    Inline elements and unknown ones leave their text, captions and asides become paragraphs, spans of tables are filled, and an
    entry of a definition list is one item with its term.
    """
    for element in tree.xpath(_CONTROLS):
        remove(element)
    for element in tree.xpath(
        "//li[not(.//h2 or .//h3 or .//h4)]//br[not(ancestor::pre)] | "
        + " | ".join(f"//h{level}//br" for level in range(1, 7))
    ):
        is_named = element.getparent().tag == "li" and _is_name(element.getprevious(), element)
        element.text, element.tag = ": " if is_named else " ", STRIPPED  # the lines of a heading or an item are one
    show_boxes(tree)
    write_styles(tree)
    show_fields(tree)
    name_writers(tree)
    lead_parts(tree)
    _head_messages(tree)
    _show_plainly(tree)
    _without_signs(tree)
    _reshape(tree)
    _mend_lines(tree)
    list_items_of_word(tree)
    _move_notes(tree)
    _head_boxes(tree)
    for entry in tree.iter("li"):
        _name_item(entry)
    for element in list(tree.iter()):
        if isinstance(element.tag, str) and element.getparent() is not None:
            _simplify_one(element)
    for element in reversed(list(tree.iter())):  # children before their parents
        _strip(element)
    for element in list(tree.iter(*_LOOSE)):
        _wrap(element)
    for entries in list(tree.iter("dl")):
        _join_terms(entries)
    for table in list(tree.iter("table")):
        _fill(table, produced)
    for cell in tree.iter("td", "th"):
        cell.attrib.pop("rowspan", None)  # of tables for layout
    for element in tree.iter("li", "p", *_HEADINGS):
        if not len(element) and len((element.text or "").split()) == 1:  # else "PDF" and "Mail" go as signs of a menu
            element.text = f"{element.text.strip()}{_EMPTY}"


_SIGNS = "anchorjs-link hash-link headerlink ltx_note_mark ltx_tag_note mw-cite-backlink mw-editsection noprint pilcrow user-icon"
_CONTROLS = " | ".join(  # for editors and readers, beside headings and references, and what Google shows around a sheet
    [
        *(f"//*[contains(concat(' ', @class, ' '), ' {name} ')]" for name in _SIGNS.split()),
        *(f"//h{level}[text() or *[not(self::button)]]//button" for level in range(1, 7)),
        *(
            f"//table[contains(@class, 'waffle')]/{part}"
            for part in ("thead", "/th", "ancestor::body/div[@id='footer']")
        ),
    ]
)


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def _head_boxes(tree: HtmlElement) -> None:
    """Make labels of the headings of a box inside a section, in place, so that the text after the box keeps its own heading."""
    above: HtmlElement | None = None
    for heading in list(tree.iter(*_HEADINGS)):
        box = heading.getparent()
        before, above = above, heading
        while box is not None and len(box) == 1 and not (box.text or "").strip():
            box = box.getparent()
        if before is None or before.tag >= heading.tag or box is None or box.tag not in ("aside", "div", "section"):
            continue
        first = next((each for each in box.iter() if isinstance(each.tag, str) and (each.text or "").strip()), box)
        is_first = first is heading or heading in first.iterancestors()
        if not is_first or {box, box.getparent()}.intersection(before.iterancestors()) != {box.getparent()}:
            continue
        after = next((each for each in box.itersiblings() if isinstance(each.tag, str) and shown_words(each)), None)
        if after is not None and after.tag in _FLOW:
            heading.tag, above = "p", before
            text = shown_words(heading).rstrip(" :")
            del heading[:]
            heading.text = text if text[-1:] in "?!." else f"{text}:"


def _head_messages(tree: HtmlElement) -> None:
    """Put who wrote it and when above each message of a chat that Telegram exported, in place."""
    name = ""
    for date in tree.xpath("//div[contains(@class, 'message')]/div/div[@title and contains(@class, 'date')]"):
        for own in date.getparent().xpath("./div[@class='from_name' or contains(@class, 'reply_to')]"):
            name = shown_words(own) if own.get("class") == "from_name" else name
            remove(own)
        date.text = f"{name} {date.get('title')[:16]}"
        for picture in date.getparent().itersiblings("div", preceding=True):
            remove(picture)
    for part in tree.iter("div") if name else ():
        part.attrib.clear()  # else one message is the main part


_TAG = "(contains(@class, 'badge') or contains(@class, 'chip') or contains(@class, 'selected-value'))"


def _show_plainly(tree: HtmlElement) -> None:
    """Show hidden sheets, keep labels apart, and make parts of the page of the items of lists that hold headings, in place."""
    for label in tree.xpath("//label[following-sibling::*[1][self::label]]"):
        label.tail = label.tail or " "
    for note in tree.xpath("//span[contains(@class, 'ltx_note_content')]"):  # of LaTeXML, in the middle of a sentence
        note.text = f" [{(note.text or '').lstrip()}"
        note.append(note.makeelement("span"))
        note[-1].text = "]"
    for tag in tree.xpath(f"//td//span[{_TAG} and @class = following-sibling::*[1][self::span]/@class]"):
        tag.tail = tag.tail or ", "
    for sheet in tree.xpath("//table[contains(@class, 'waffle')]/ancestor::div[@style]"):
        del sheet.attrib["style"]  # which hides it until a script shows it
    for heading in tree.xpath("//main//li//h2 | //main//li//h3 | //dt/h2 | //dt/h3"):  # of parts, not of items
        entry = next(heading.iterancestors("dt", "li"), heading)
        for each in entry.getparent().xpath("self::dl | self::ol | self::ul | ./li | ./dt | ./dd"):
            each.tag = "div"


def _mend_lines(tree: HtmlElement) -> None:
    """Make spaces of the line breaks in the source outside of code, in place, and code of lines that are shown as they are."""
    shown = list(tree.iter("pre", "textarea", "script", "style"))
    inside = {each for part in shown for each in part.iterdescendants()}
    for element in tree.iter():
        if element.text and "\n" in element.text and element not in inside and element not in shown:
            element.text = " ".join(_BROKEN.split(element.text))
        if element.tail and "\n" in element.tail and element not in inside:
            element.tail = " ".join(_BROKEN.split(element.tail))
    for part in shown:
        words = part.text_content().strip() if part.tag == "pre" and part.find(".//code") is None else ""
        before = part.getprevious() if words and "\n" not in words else None
        if "\n" in words or (
            before is not None and shown_words(before).endswith(":") and not (before.tail or "").strip()
        ):
            part.text = f"\n{part.text or ''}"
            code = part.makeelement("code")
            code.text, part.text = part.text, None
            code.extend(list(part))
            part.append(code)


def _without_signs(tree: HtmlElement) -> None:
    """Remove what leads through a page, in place: contents, rows of links in brackets, signs beside headings."""
    _without_contents(tree)
    for table in list(tree.iter("table")):
        if _BRACKETED.fullmatch(shown_words(table)):  # where to go from here: "[Up] [Next]"
            remove(table)
    for link in filter(_leads_on, list(tree.iter("a"))):
        remove(link)
    for part in list(tree.iter("a", "button", "div", "form", "legend", "p", "small", "span")):
        if MAY_ASK.match(part.text or "") and next(part.iterancestors("body"), None) is not None:
            remove_asking(part)
    for link in tree.xpath(" | ".join(f"//h{level}//a[@href]" for level in range(1, 7))):
        if not any(map(str.isalnum, shown_words(link))) and not len(link):
            remove(link)  # a sign for readers who want the address of the heading


def _leads_on(link: HtmlElement) -> bool:
    """Whether a link leads to the rest of a text, and is neither the end of a sentence nor a cell."""
    if (link.tail or "").strip() or not _LEADS_ON.fullmatch(shown_words(link)):
        return False
    above, parent = link.getprevious(), link.getparent()
    before = (parent.text if above is None else above.tail) or ""
    return parent.tag not in ("td", "th") and not before.rstrip()[-1:].isalnum()


def _without_contents(tree: HtmlElement) -> None:
    """Remove lists of nothing but links to headings of the page, in place, with the box around them."""
    places = {each.get("id") or each.get("name") for each in tree.xpath("//*[@id or @name]")}
    for entries in [*tree.iter("dl", "ol", "ul")]:
        links = entries.xpath(".//a[contains(@href, '#')]")
        is_whole = len(links) >= _FEWEST_LINKS and _shown(entries) <= _MOST_BESIDE * sum(map(_shown, links))
        are_known = all(str(each.get("href")).partition("#")[2] in places for each in links)
        if entries.getparent() is None or not is_whole or not are_known:
            continue
        box = entries
        while box.getparent().tag in ("div", "nav") and _shown(box.getparent()) <= _shown(box) + _HEADING:
            box = box.getparent()
        remove(box)


def _shown(element: HtmlElement) -> int:
    return sum(map(str.isalpha, element.text_content()))


_FEWEST_LINKS, _MOST_BESIDE = 3, 1.3  # of a table of contents: links, and letters for each letter of the links
_HEADING = 20  # letters of its heading
_LEADS_ON = re.compile(r"(?:more|(?:continue|keep) reading|(?:learn|read|see|show) (?:more|all))\W*", re.IGNORECASE)
_BRACKETED = re.compile(r"(?:\[[^\[\]]{1,20}\]\s*){2,20}")
_BROKEN = re.compile(r"[ \t]*\n\s*")


def _is_name(own: HtmlElement | None, following: HtmlElement) -> bool:
    """Whether an element is the name, in emphasis, at the beginning of an item, and words follow."""
    if own is None or own.tag not in ("b", "em", "strong") or own.getprevious() is not None:
        return False
    is_alone = not f"{own.getparent().text or ''}{own.tail or ''}".strip()
    return (
        is_alone
        and shown_words(own)[-1:] not in (*".:!?", "")
        and bool((following.tail or "").strip() or len(own.getparent()) > 2)
    )


def _name_item(entry: HtmlElement) -> None:
    """Put a colon behind the name of an item that stands alone in emphasis above its first paragraph, in the line of both."""
    if len(entry) < 2 or (entry.text or "").strip() or entry[1].tag != "p":
        return
    above = entry[0]
    own = above[0] if above.tag == "p" and len(above) == 1 and not (above.text or "").strip() else above
    if own.tag not in ("b", "em", "strong") or (own.tail or "").strip() or (above.tail or "").strip():
        return
    name = shown_words(own)
    if name and len(name) <= _LONGEST_NAME and name[-1] not in ".:!?":
        own.tail = ": "
        for each in {above, entry[1]} - {own}:
            each.tag, each.text, each.tail = STRIPPED, (each.text or "").lstrip(), None


_LONGEST_NAME = 80
_FLOW = ("blockquote", "figure", "ol", "p", "table", "ul")


def _mark_quotes(tree: HtmlElement) -> None:
    """Make quotations parts of the page whose paragraphs begin with as many signs as there are quotations around them."""
    depth = {quote: 1 + sum(1 for _ in quote.iterancestors("blockquote")) for quote in tree.iter("blockquote")}
    for quote in depth:
        quote.tag = "div"
    for element in [each for quote in depth for each in quote.iter("div", "p")]:
        _wrap(element) if element.tag == "div" else None
    for quote, level in depth.items():  # outer quotations before inner ones
        for block in quote.iter("p", "li", "h1", "h2", "h3", "h4", "h5", "h6"):
            text = (block.text or "").lstrip()
            block.text = f"{'> ' * level}{text.lstrip('> ') if text.startswith('> ') else text}"


_NOTE_TYPES = frozenset(["doc-endnote", "doc-footnote", "endnote", "footnote", "rearnote"])
_LONGEST_MARK = 6
_SECTIONS = ("article", "aside", "body", "div", "main", "section")


def _move_notes(tree: HtmlElement) -> None:
    """Put each note of the page after the paragraph, list or table that first refers to it, with the same mark in brackets."""
    notes = {each.get("id"): each for each in tree.xpath("//*[@id]") if _is_note(each)}
    for section in tree.xpath("//*[@role='doc-endnotes' or contains(concat(' ', @class, ' '), ' footnotes ')]"):
        notes.update((each.get("id"), each) for each in section.iter("li") if each.get("id"))
    anchors = {each.get("name") or each.get("id"): each for each in tree.iter("a")}
    # As word processors write notes: two links to one another, the second one before the note.
    for name, back in anchors.items():
        target = str(back.get("href", ""))[1:]
        block = next(back.iterancestors("p", "li"), None)
        if (
            name
            and block is not None
            and name not in notes
            and _is_back(anchors.get(target), name, seen=back, block=block)
        ):
            own = block.getparent()
            notes[name] = own if own.get("id") and own.get("id") in name else block
    if not notes:
        return
    own_links = {link for note in notes.values() for link in note.iter("a")}
    moved: dict[HtmlElement, list[HtmlElement]] = {}
    for link in [*tree.iter("a")]:
        href, mark = str(link.get("href", "")), shown_words(link).strip("[]()")
        if link in own_links or href[:1] != "#" or not 0 < len(mark) <= _LONGEST_MARK:
            continue
        note = notes.get(href[1:])
        if note is None:
            continue
        del link[:]
        link.text = f"[{mark}]"
        link.tag = "span"  # many short links make a paragraph look like a menu
        if note.getparent() is not None:
            moved.setdefault(_block_of(link), []).append(note)
            remove(note)
            _mark(note, mark)
    for block, each in moved.items():
        for note in reversed(each):
            block.addnext(note)


def _is_back(link: HtmlElement | None, name: str, *, seen: HtmlElement, block: HtmlElement) -> bool:
    """Whether a link leads to the named one, which is the first word of its block and stands in another one."""
    if link is None or link is seen or link.get("href") != f"#{name}":
        return False
    there = next(link.iterancestors("p", "li", "td"), link)
    return shown_words(block).startswith(shown_words(seen)) and not shown_words(there).startswith(shown_words(link))


def _is_note(element: HtmlElement) -> bool:
    kinds = f"{element.get('role', '')} {element.get('epub:type', '')}".split()
    return not _NOTE_TYPES.isdisjoint(kinds)


def _mark(note: HtmlElement, mark: str) -> None:
    """Make a note a paragraph that begins with its mark in brackets, without links back to the reference."""
    for link in note.xpath(".//a[starts-with(@href, '#')]"):
        remove(link)
    note.tag = "div" if any(child.tag in _BLOCKS for child in note) else "p"
    note.attrib.clear()
    first = note
    while not (first.text or "").strip() and len(first) and first[0].tag in _BLOCKS:
        first = first[0]
    own_mark = re.compile(rf"\s*[\[(]?{re.escape(mark)}[\])]?[.:]?\s+")
    text = first.text or ""
    own = own_mark.match(text)
    first.text = f"[{mark}] {text[own.end() if own else 0 :].lstrip()}"


def _block_of(element: HtmlElement) -> HtmlElement:
    """The outermost paragraph, list or table around an element that is not a part of the page."""
    above = element.getparent()
    while above is not None and above.tag not in _SECTIONS:
        element, above = above, above.getparent()
    return element


def _simplify_one(element: HtmlElement) -> None:
    tag = element.tag
    if tag == "button" and _opens(element) and not any(map(_is_outside, element.iterancestors())):
        tag = element.tag = "h4"
        for each in [*element.itersiblings()][:1]:  # the part that it opens
            each.attrib.clear()
    # The second: an element of a component, or of a vocabulary such as inline XBRL.
    is_label = tag == "button" and re.fullmatch(r"h[1-6]", str(element.getparent().tag))
    is_in_code = tag in _IN_CODE and next(element.iterancestors("code"), None) is not None
    # with links, headings look like a menu to the extraction
    is_anchor = tag == "a" and (not element.get("href") or next(element.iterancestors(*_HEADINGS), None) is not None)
    is_free = is_label or is_in_code or is_anchor or _INLINE.fullmatch(tag) or not _KNOWN_TAG.fullmatch(tag)
    if tag in _TEXT_OF:
        text = _TEXT_OF[tag](element)
        del element[:]
        element.text = text
        element.tag = STRIPPED
    elif tag in _CONTAINERS or (
        any(each.tag in _HEADINGS for each in element.iter())
        if tag == "header"
        else (is_free or tag in _PARAGRAPHS) and any(child.tag in _BLOCKS for child in element)
    ):
        element.tag = "div"
    elif tag in _PARAGRAPHS or (tag == "footer" and any(each.tag == "blockquote" for each in element.iterancestors())):
        element.tag = "p"
    elif tag == "menu":
        element.tag = "ul"
    elif tag == "strike" or (is_free and _STRUCK.search(str(element.get("style", "")))):
        element.tag = "del"
    elif is_free:
        element.tag = STRIPPED


def _opens(button: HtmlElement) -> bool:
    """Whether a button opens the part below it: it says so, or it is a question or of an accordion, with words below it."""
    is_named = shown_words(button).endswith("?") or "accordion" in button.get("class", "")
    part = next(button.itersiblings("div", "section"), None) if is_named else None
    return bool(button.get("aria-expanded")) or (part is not None and bool(shown_words(part)))


def _is_outside(part: HtmlElement) -> bool:
    return part.tag in ("footer", "form", "header", "li", "nav", *_HEADINGS) or part.get("role") == "navigation"


def _make_article(tree: HtmlElement) -> None:
    """Put the content of the page into an article, in place: without a main part, the extraction drops all headings."""
    for body in tree.iter("body"):
        article = body.makeelement("article")
        article.extend(list(body))
        body.append(article)
        end = article.makeelement("p")  # the extraction drops headings without text after them
        end.text = _EMPTY
        article.append(end)
        break


def _keep_all(tree: HtmlElement) -> None:
    """Remove what the extraction takes for a sign of boilerplate, in place."""
    for element in tree.iter():
        for name in ("class", "hidden", "id", "role", "style"):
            element.attrib.pop(name, None)
        if element.tag in ("footer", "header"):
            element.tag = "div"
        elif element.tag == "a":  # many links make a paragraph look like a menu
            element.tag = "span"


def _free(main: HtmlElement | None) -> None:
    """Remove names of classes in the main part that the extraction takes for signs of boilerplate by a part of a word, in place.

    "meta" of a recipe, "rating-scale" and "options" are content; a part named as a menu or a footer is, keeps its name.
    """
    parts = ("div", "li", "ol", "p", "section", "span", "table", "td", "ul")
    for element in () if main is None else main.iterdescendants(*parts):
        for name in ("class", "id"):
            given = element.attrib.get(name, "")
            if given and not _BESIDE.search(given) and not _SHED.search(given):
                del element.attrib[name]


def _free_lists(tree: HtmlElement, *, is_plain: bool) -> None:
    """Take the links off the lists of the main part that a heading or a lead-in names, in place: they look like menus."""
    for entries in tree.iter("dl", "ol", "ul"):
        above = entries.getprevious()
        is_named = above is not None and (
            above.tag in (("dt",) if entries.tag == "dl" else _HEADINGS) or shown_words(above).endswith(":")
        )
        around = [*entries.iterancestors()] if is_named else []
        is_inside = is_plain or any(each.tag in ("main", "article") or each.get("role") == "main" for each in around)
        if is_named and is_inside and not any(map(_is_beside, around)):
            for link in entries.iter("a"):
                link.tag = "span"


def _is_beside(part: HtmlElement) -> bool:
    """Whether a part looks like a menu, a side bar, a footer or comments, by its tag, role, class or id."""
    named = _BESIDE.search(f"{part.get('class', '')} {part.get('id', '')}")
    return part.tag in ("aside", "footer", "header", "nav") or part.get("role") == "navigation" or named is not None


def _strip(parent: HtmlElement) -> None:
    """Put the content of the children that are marked to be stripped in their place.

    All at once, since dropping one tag takes as long as its parent has text.
    """
    if not any(child.tag == STRIPPED for child in parent):
        return
    parts: list[Any] = [parent.text]  # elements, and the texts between them
    for child in parent:
        inner = (
            [child.text, *(part for each in child for part in (each, each.tail))] if child.tag == STRIPPED else [child]
        )
        parts += [*inner, child.tail]
    del parent[:]
    parent.text = ""
    last: HtmlElement | None = None
    for is_text, run in groupby(parts, key=lambda part: part is None or isinstance(part, str)):
        if not is_text:
            for last in run:
                last.tail = None
                parent.append(last)
        elif last is None:
            parent.text = "".join(filter(None, run))
        else:
            last.tail = "".join(filter(None, run))


def _wrap(element: HtmlElement) -> None:
    """Make paragraphs of the text that stands beside blocks, with the inline elements around it."""
    texts = (element.text, *(child.tail for child in element))
    if not any(text and text.strip() for text in texts):
        return
    children = list(element)
    run = element.makeelement("p")
    run.text, element.text = element.text, None
    del element[:]
    for child in children:
        tail, child.tail = child.tail, None
        if child.tag in _INSIDE:
            child.tail = tail
            run.append(child)
            continue
        _append_run(element, run)
        element.append(child)
        run = element.makeelement("p")
        run.text = tail
    _append_run(element, run)


def _append_run(element: HtmlElement, run: HtmlElement) -> None:
    if len(run) or (run.text and run.text.strip()):
        element.append(run)


# In code, the extraction moves them to its front.
_IN_CODE = frozenset(["a", "b", "code", "del", "em", "i", "s", "strong"])
_INSIDE = frozenset(["a", "b", "br", "code", "del", "em", "i", "img", "s", "strong", "sub", "sup"])
_MAIN = "//main[not(ancestor::main)] | //*[@role='main'][not(self::main or ancestor::*[@role='main'] or .//main)]"
_BESIDE = re.compile(
    r"(?<![a-z])(?:(?:side|nav|tool)?bar|banner|breadcrumbs?|comments?|cookies?|footer|header|menu|nav|navigation|promo|related"
    r"|share|sidebar|social|teaser|widget)(?![a-z])",
    re.IGNORECASE,
)
_AROUND = re.compile(r"(?<![a-z])(?:breadcrumbs?|related|share|sidebar)(?![a-z])", re.IGNORECASE)
_SHED = re.compile(
    r"(?<![a-z])(?:ad|ads|advert\w*|author|byline|consent|criteo|dfp\w*|hidden|hide|modal|newsletter|noprint|outbrain|pager|pagination"
    r"|paywall|popup|premium|print|promoted|recommend\w*|reply|sponsor\w*|subscri\w+|taboola|tags?|timestamp|toc|toolbox|tooltip|viral)"
    r"(?![a-z])|taboola|outbrain|shar(?:e|ing)|social|navbox|akismet",
    re.IGNORECASE,
)
_CONTENT = (
    "//body//text()[ancestor::p or ancestor::li or ancestor::td or ancestor::th or ancestor::blockquote or ancestor::pre "
    "or ancestor::h1 or ancestor::h2 or ancestor::h3 or ancestor::h4 or ancestor::h5 or ancestor::h6]"
    "[not(ancestor::nav or ancestor::header "
    "or ancestor::footer or ancestor::form or ancestor::script or ancestor::style or ancestor::noscript or ancestor::template "
    "or ancestor::a[not(ancestor::p)] or ancestor::*[@hidden or @aria-hidden='true' or @role='navigation'])]"
)
_SHORT_WORD = 3  # characters: "the" and "for" do not tell what a page is about


def _content(tree: HtmlElement) -> list[str]:
    """The texts of paragraphs, lists, tables and headings, except those of menus, headers, footers and forms."""
    return [" ".join(str(part).split()) for part in tree.xpath(_CONTENT)]


def _only_heading(tree: HtmlElement, of_site: Sequence[HtmlElement]) -> str:
    """The only heading of the highest level, if it does not name the site; else empty."""
    tops = list(tree.iter("h1"))
    is_own = len(tops) == 1 and tops[0] not in of_site
    return clean_title(clean(shown_words(tops[0]))).replace(_EMPTY, "") if is_own else ""


def _title(guess: str, declared: str) -> str:
    """The title of a page: the guess, unless it is that of the whole site, or has no word of what ``<title>`` declares.

    Examples
    --------
    >>> _title("Tool Manual", "Install | Tool manual"), _title("Menu", "Install the tool"), _title("Install", "Install | Tool")
    ('Install', 'Install the tool', 'Install')
    >>> _title("The XSLT library for GNOME", "Index of symbols for libxslt"), _title("", "Index")
    ('Index of symbols for libxslt', 'Index')
    """
    first, *site = [part for part in _TITLE_PARTS.split(declared) if part] or [""]
    if guess.casefold() in map(str.casefold, site):
        return first
    shared = set(words(guess)) & set(words(declared))
    is_about = any(len(word) > _SHORT_WORD for word in shared) or len(shared) == len(set(words(guess)))
    return guess if guess and (is_about or not declared) else declared


def _formula(element: HtmlElement) -> str:
    """The text of a formula: its TeX source if it has that, else its symbols."""
    source = element.xpath(".//annotation[contains(@encoding, 'tex')]")
    if source or element.get("alttext"):
        return " ".join((source[0].text_content() if source else str(element.get("alttext"))).split())
    return " ".join(mathml(element).split())


def _shifted(element: HtmlElement) -> str:
    """An exponent or index as characters of that kind. The mark of a note gets brackets."""
    text = shown_words(element)
    if (text[:1] == "[" or element.xpath(".//a")) and text.strip("[]").isalnum():
        return f"[{text.strip('[]')}]"
    return shifted(text, is_raised=element.tag == "sup")


_TEXT_OF: dict[str, Callable[[HtmlElement], str]] = {
    "math": _formula,
    "sup": _shifted,
    "sub": _shifted,
    "rt": lambda element: f"({shown_words(element)})",
    "rp": lambda _: "",
    "q": lambda element: f"“{shown_words(element)}”",
}


def _join_terms(entries: HtmlElement) -> None:
    """Make each definition an item of a list that begins with its terms; terms without a definition are items of their own."""
    items: list[HtmlElement] = []
    terms: list[HtmlElement] = []
    for tag, parts in groupby(entries.xpath("./dt | ./dd | ./div/dt | ./div/dd"), key=attrgetter("tag")):
        if tag == "dt":
            terms = list(parts)
            continue
        definitions = list(parts)
        for part in [each for each in definitions if shown_words(each) or len(each)] or definitions[
            :1
        ]:  # RFCs add empty ones
            if terms:
                part.text = f"{', '.join(map(shown_words, terms)).rstrip(' :')}: {(part.text or '').lstrip()}"
            items.append(part)
        terms = []
    del entries[:]
    entries.tag = "ul"
    for part in (*items, *terms):
        part.tag = "li"
        part.tail = None
        entries.append(part)


def _fill(table: HtmlElement, produced: Produced) -> None:
    """Fill the spans of a table of data, and move its captions and notes out of it. A table for layout stays."""
    from lxml.html import builder

    lines = [row for part in ("./thead/tr", "./tr | ./tbody/tr", "./tfoot/tr") for row in table.xpath(part)]
    cells = [list(row.iterchildren("td", "th")) for row in lines]
    if len(cells) < 2 or max(map(len, cells)) < 2 or table.find(".//table") is not None:
        produced.add_cells(len(cells) * max((sum(map(_narrowed, row)) for row in cells), default=0))
        return
    grid = Grid([list(map(_cell, row)) for row in cells], produced=produced)
    captions = [*map(shown_words, table.iterchildren("caption")), *grid.captions]
    del table[:]
    table.text = None
    head = [builder.TR(*(builder.TH(text or _EMPTY) for text in grid.head))] if grid.rows else []
    table.extend([*head, *(builder.TR(*(builder.TD(f"{text}{_EMPTY}") for text in row)) for row in grid.rows)])
    for text in captions:
        table.addprevious(builder.P(text))
    for text in reversed(grid.notes):
        table.addnext(builder.P(text))


def _narrowed(cell: HtmlElement) -> int:
    """Number of columns that a cell spans, at most 100, to which its ``colspan`` is limited."""
    span = max(1, min(_span(cell, "colspan"), WIDEST))
    cell.set("colspan", str(span))
    return span


def _span(cell: HtmlElement, name: str) -> int:
    value = str(cell.get(name, "1")).strip()[:9]
    return int(value) if value.isdecimal() else 1


_SHOWN_ALONE = "|".join(  # what stands for a picture that is no sign of where to go or of a kind of paragraph
    f".//{part}[not(ancestor::a)]/@{name}[not(starts-with(., '['))]"
    for part, name in (("img", "alt"), ("*", "aria-label"))
)


def _cell(element: HtmlElement) -> Cell:
    for block in element.iter("br", *_BLOCKS, "li"):
        block.text = f" {block.text or ''}"
        block.tail = f" {_EMPTY if block.tag == 'li' else ''}{block.tail or ''}"
    text = ", ".join(filter(None, (part.strip() for part in shown_words(element).split(_EMPTY))))
    text = text or " ".join(map(str, element.xpath(_SHOWN_ALONE))).strip()
    return Cell(
        text,
        _span(element, "colspan"),
        _span(element, "rowspan"),
        is_head=element.tag == "th" or "scope" in element.attrib,
    )


# Headings, lists in lists and places on the screen that the markup calls otherwise: newsletters use tables as frames, editors
# write headings as paragraphs in bold, and lists in lists as lists beside each other.


_LEVELS = 6
_PARTS = ("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table")
_LIST_LEVEL = re.compile(r"\blst-kix_[\w]*-(\d)\b")


def _reshape(tree: HtmlElement) -> None:
    """Take frames away, nest lists, and make headings of bold lines above text, in place. Takes time linear in the page."""
    for child in tree.xpath("//div[@class='sidebar']/*[self::div or self::p][contains(@class, 'title')]"):
        child.getparent().attrib.pop("class", None)  # of DocBook, between paragraphs
    for table in list(tree.iter("table")):
        _list_rows(table)
        if table.getparent() is not None and _is_frame(table):
            for each in (table, *_own(table)):
                each.tag = "div"
    for entries in list(tree.iter("ol", "ul")):
        _nest(entries)
    level = 0
    for element in list(tree.iter("p", *_HEADINGS)):
        if element.tag == "p" and not level and {"MsoTitle", "title"} & {*str(element.get("class", "")).split()}:
            element.tag = "h1"
        if element.tag != "p":
            level = int(element.tag[1])
        elif _is_bold_title(element):
            element.tag = f"h{min((level or 1) + 1, _LEVELS)}"
    for cell in tree.iter("td"):
        if _is_bold(cell):
            cell.set("scope", "col")  # its spans go
        elif (
            len(cell) and not any(map(str.strip, cell.itertext())) and not any(map(str.strip, cell.xpath(_SHOWN_ALONE)))
        ):
            cell.text = sign_of(cell)
    head_articles(tree)


def _is_bold(element: HtmlElement) -> bool:
    """Whether all words of an element are in bold."""
    if not len(element) or (element.text or "").strip():
        return False
    return all(
        not (each.tail or "").strip() and (_marks_bold(each) or not each.text_content().strip() or _is_bold(each))
        for each in element
        if isinstance(each.tag, str)
    ) and bool(element.text_content().strip())


def _marks_bold(element: HtmlElement) -> bool:
    is_styled = element.tag in ("font", "span") and BOLD_STYLE.search(str(element.get("style", "")))
    return element.tag in ("b", "strong") or bool(is_styled)


def _is_bold_title(paragraph: HtmlElement) -> bool:
    """Whether a paragraph in bold is a heading: it stands outside lists and tables, and a paragraph that is not bold follows."""
    if not _is_bold(paragraph) or not is_title_line(clean_title(paragraph.text_content())):
        return False
    if next(paragraph.iterancestors("blockquote", "dd", "li", "td", "th"), None) is not None:
        return False
    following = next((each for each in paragraph.itersiblings() if isinstance(each.tag, str)), None)
    return following is not None and following.tag not in _HEADINGS and not _is_bold(following)


def _own(table: HtmlElement) -> Iterator[HtmlElement]:
    """The rows and cells of a table, without those of tables in it."""
    for part in table:
        if part.tag in ("thead", "tbody", "tfoot"):
            yield part
            yield from _own(part)
        elif part.tag == "tr":
            yield part
            yield from (cell for cell in part if cell.tag in ("td", "th"))


def _is_frame(table: HtmlElement) -> bool:
    """Whether a table only places what is in it: headings, lists, tables or several paragraphs, without labels or names beside."""
    filled = (each for each in _own(table) if each.tag in ("td", "th") and any(map(str.strip, each.itertext())))
    cells = [*filled]
    if table.find("caption") is not None or any(each.tag == "th" and not _holds_parts(each) for each in cells[1:]):
        return False
    if len(cells) < 2 or table.get("role") in ("none", "presentation"):
        return True
    if cells[0].tag == "th" and not _holds_parts(cells[0]):
        return False
    firsts = [next(iter(row), None) for row in _own(table) if row.tag == "tr" and len(row) > 1]
    are_names = len(firsts) > 1 and all(
        each is not None and 0 < len(shown_words(each)) <= _LONGEST_NAME for each in firsts
    )
    is_listed = are_names and not any(_holds_parts(each) for each in firsts if each is not None)
    return not is_listed and any(_holds_parts(cell) for cell in cells)


def _list_rows(table: HtmlElement) -> None:
    """Make a list of a table whose rows are the mark of an item and its text, in place; tables below each other are one list."""
    rows = [[each for each in row if each.tag in ("td", "th")] for row in _own(table) if row.tag == "tr"]
    if not rows or not all(len(row) == 2 and _ITEM_MARK.fullmatch(shown_words(row[0])) for row in rows):
        return
    above = table.getprevious()
    is_more = above is not None and above.tag == "ul" and above.get("class") == STRIPPED
    entries = above if is_more else table.makeelement("ul", {"class": STRIPPED})
    if not is_more:
        table.addprevious(entries)
    for mark, entry in rows:
        first = entry
        while not (first.text or "").strip() and len(first) and shown_words(first[0]):
            first = first[0]
        shown = f"{shown_words(mark)} " if any(map(str.isalnum, shown_words(mark))) else ""
        first.text = f"{shown}{(first.text or '').lstrip()}"
        entry.tag, entry.tail = "li", None
        entry.attrib.clear()
        entries.append(entry)
    remove(table)


_ITEM_MARK = re.compile(r"\(?(?:\d{1,3}|[a-z]{1,2}|[ivxl]{1,6})[.)]|[-•–—]")


def _holds_parts(cell: HtmlElement) -> bool:
    box = cell
    while len(box) == 1 and box[0].tag in ("center", "div") and not (box.text or "").strip():
        box = box[0]
    blocks = [each.tag for each in box if isinstance(each.tag, str)]
    return any(tag in _HEADINGS or tag == "table" for tag in blocks) or (
        blocks.count("p") + sum(tag in _PARTS for tag in blocks) > 1
    )


def _nest(entries: HtmlElement) -> None:
    """Move a list whose class names its level into the last item of the one before it, or its items to those of that one."""
    level = _level(entries)
    before = entries.getprevious()
    if level is None or before is None or before.tag not in ("ol", "ul") or _level(before) is None:
        return
    while True:
        own = _level(before)
        inner = before[-1].find("ul") if len(before) else None
        inner = before[-1].find("ol") if inner is None and len(before) else inner
        if own is None or own >= level or inner is None or (_level(inner) or 0) > level:
            break
        before = inner
    if own is not None and own >= level:
        before.extend(list(entries))
        entries.getparent().remove(entries)
    elif len(before):
        before[-1].append(entries)


def _level(entries: HtmlElement) -> int | None:
    match = _LIST_LEVEL.search(str(entries.get("class", "")))
    return int(match[1]) if match else None


def declared_encoding(data: bytes) -> str | None:
    """The encoding that the head of a page declares, interpreted as browsers do, or None.

    ``latin-1`` and ASCII mean Windows-1252. UTF-16 and UTF-32 mean UTF-8: the declaration itself would be unreadable
    otherwise.

    References
    ----------
    WHATWG, HTML, "prescan a byte stream to determine its encoding"; WHATWG, Encoding, "names and labels".

    Examples
    --------
    >>> declared_encoding(b'<html><head><meta charset="iso-8859-1">')
    'cp1252'
    """
    match = _DECLARED.search(data[:4096])
    if match is None:
        return None
    try:
        name = codecs.lookup((match.group(1) or match.group(2)).decode("ascii")).name
        "a".encode(name)
    except (LookupError, ValueError):
        return None
    if name.startswith(("utf-16", "utf-32")):
        return "utf-8"
    return "cp1252" if name in ("ascii", "iso8859-1") else name


FORMAT = FileFormat("html", suffixes=(".htm", ".html", ".xhtml"), read=read_html)
