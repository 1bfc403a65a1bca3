"""What the reader of pages finds in style sheets, fields of forms, icons, laws, and in what asks readers for their opinion."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

STRIPPED = "stripped"
"""The tag of an element whose content takes its place, and the class of a list that is none of the page's own."""
BOLD_STYLE = re.compile(r"font-weight:\s*(?:bold|[6-9]00)")
_CLASS_RULE = re.compile(r"(?:^|[};,>]|\*/)\s*\w*\.([\w-]{1,60})\s*\{([^{}]{1,2000})(?=\})")
_STRUCK_RULE = re.compile(r"text-decoration[\w-]*:[^;]{0,40}line-through")


def write_styles(tree: HtmlElement) -> None:
    """Write what the style sheets of the page say of bold and struck out classes into the spans of these, in place."""
    shapes: dict[str, str] = {}
    for sheet in tree.iter("style"):
        for name, rule in _CLASS_RULE.findall(sheet.text or ""):
            kept = [match[0] for find in (BOLD_STYLE, _STRUCK_RULE) for match in [find.search(rule)] if match]
            shapes[name] = ";".join(filter(None, [shapes.get(name), *kept]))
    for element in tree.iter("font", "span") if any(shapes.values()) else ():
        own = [shapes.get(name, "") for name in str(element.get("class", "")).split()]
        if any(own):
            element.set("style", ";".join(filter(None, [element.get("style"), *own])))


_IN_LIST = re.compile(r"mso-list:\s*l\d+\s+level(\d)")
_BULLET = "*[contains(@style, 'mso-list:Ignore') or contains(@style, 'mso-list: Ignore')]"


def list_items_of_word(tree: HtmlElement) -> None:
    """Make lists of the paragraphs that a page saved by Word shows as items, in place; the drawn number of a heading stays."""
    for paragraph in list(tree.iter("p")):
        level = _IN_LIST.search(str(paragraph.get("style", "")))
        is_filtered = str(paragraph.get("class", "")).startswith("MsoListParagraph")
        drawn = paragraph.xpath(f".//{_BULLET}[not(ancestor::{_BULLET})]") if level else []
        drawn = paragraph.xpath("./span[1][contains(.//span/@style, '7.0pt')]") if is_filtered and not level else drawn
        if not drawn:
            continue
        is_number = any(sign.isdigit() for sign in shown_words(drawn[0]))
        for each in drawn:
            remove(each)
        above = paragraph.getprevious()
        kind = "ol" if is_number else "ul"
        place = above if above is not None and above.get("class") == STRIPPED else None
        if place is None:
            place = paragraph.makeelement(kind, {"class": STRIPPED})
            paragraph.addprevious(place)
        for _ in range(int(level[1]) - 1 if level else 0):
            if not len(place):
                break
            inner = place[-1].find("ul") if place[-1].find("ul") is not None else place[-1].find("ol")
            if inner is None:
                inner = place.makeelement(kind)
                place[-1].append(inner)
            place = inner
        paragraph.tag, paragraph.tail = "li", None
        place.append(paragraph)


def show_fields(tree: HtmlElement) -> None:
    """Put what is chosen or filled in where the labelled fields of a form stand, in place: "[x]", "[ ]", a value, an option."""
    for field in [each for each in tree.iter("input", "select", "textarea") if _is_labelled(each)]:
        kind, value = str(field.get("type", "text")).lower(), str(field.get("value", "")).strip()
        if field.tag == "select":
            value = ", ".join(map(shown_words, field.xpath(".//option[@selected]")))
        elif field.tag == "textarea":
            value = shown_words(field)
        elif kind in ("checkbox", "radio"):
            value = "[ ]" if field.get("checked") is None else "[x]"
        if field.tag != "input" or kind in _SHOWN_FIELDS:
            form = next(field.iterancestors("form"), None) if value not in ("", "[ ]") else None
            if form is not None:  # filled in: the extraction reads no others
                form.tag = "div"
            del field[:]
            field.attrib.clear()
            field.tag, field.text, field.tail = "span", f" {value} ", f" {field.tail or ''}"


def _is_labelled(field: HtmlElement) -> bool:
    """Whether a field has a label, or stands in an item or a cell, and is no switch of the page itself."""
    kind, above, below, parent = str(field.get("class", "")), field.getprevious(), field.getnext(), field.getparent()
    if field.get("role") == "switch" or "toggle" in kind or "toctree" in kind:
        return False
    around = [each.tag for each in field.iterancestors()]
    is_entry = parent.tag in ("li", "td") or around[:2] == ["p", "li"]
    is_before = "form" in around and below is not None and below.tag == "label"
    is_after = above is not None and above.tag == "label"
    return "label" in around or is_after or (field.get("type") is not None and (is_entry or is_before))


_SHOWN_FIELDS = frozenset(["checkbox", "date", "email", "month", "number", "radio", "tel", "text", "time", "url"])


def show_boxes(tree: HtmlElement) -> None:
    """Show boxes to tick that the page draws by a class, and keep words that it hides from eyes apart, in place.

    What is struck out beside a ticked box is done, and not deleted.
    """
    boxes = f"//*/*[{_has_class('checkbox-on')} or {_has_class('checkbox-off')}][not(*)][not(normalize-space())]"
    for box in tree.xpath(boxes):
        is_on = "checkbox-on" in box.get("class").split()
        around = box.getparent()
        is_alone = len(around) == 1 and not f"{around.text or ''}{box.tail or ''}".strip()
        box.tag, box.text = "span", ("✓" if is_on else "✗") if is_alone else "[x] " if is_on else "[ ] "
        if is_on and (words := box.getnext()) is not None:
            words.attrib.pop("class", None)
            words.attrib.pop("style", None)
    for task in tree.xpath(f"//ul[{_has_class('inline-task-list')}]/li[not(.//input)]"):  # of Confluence
        is_done = "checked" in str(task.get("class")).split()
        task.text = f"{'[x]' if is_done else '[ ]'} {(task.text or '').lstrip()}"
    for sign in tree.xpath("//*[@aria-hidden='true'][not(*)]"):
        if (sign.text or "").strip() in {*"!›»|*"} and not (sign.tail or "")[:1].isalnum():
            remove(sign)
    for word in tree.xpath(f"//span[{' or '.join(map(_has_class, _UNSEEN))}]"):
        if (word.text or "")[-1:].isalnum() and (word.tail or "")[:1].isupper():
            word.tail = f": {word.tail}"


def _has_class(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


_UNSEEN = ("visually-hidden", "visuallyhidden", "sr-only", "screen-reader-text")


def name_writers(tree: HtmlElement) -> None:
    """Put who wrote a review in front of its text, in place."""
    texts = tree.xpath("//*[@itemprop='reviewBody']")
    reviews = [next((each for each in text.iterancestors() if "itemscope" in each.attrib), None) for text in texts]
    counts = Counter(reviews)
    alone = ".//*[@itemprop='author'][not(@content)][not(../text()[normalize-space()])]"  # in no sentence
    for text, review in zip(texts, reviews, strict=True):
        writers = review.xpath(alone) if review is not None and counts[review] == 1 else []
        name = shown_words(writers[0]) if len(writers) == 1 else ""
        if 0 < len(name) <= _LONGEST_NAME and text not in writers[0].iterancestors():
            remove(writers[0])
            _lead(text, name)


def lead_parts(tree: HtmlElement) -> None:
    """Put the kind of a warning, the name of a box and the label of a tab in front of what stands below them, in place:
    "Warning: Never do it."."""
    for title in [each for each in tree.xpath(_BOX_TITLES) if each.getprevious() is None]:
        box, name = title.getparent(), shown_words(title)
        if name and len(name) <= _LONGEST_NAME and name[-1] not in ".!?:" and shown_words(box) != name:
            remove(title)
            _lead(box, name[0].upper() + name[1:])
    every = tree.xpath("//*[@role='tablist']")
    around = Counter(tabs.getparent() for tabs in every)
    for tabs in (each for each in every if around[each.getparent()] == 1):
        names = [shown_words(tab) for tab in tabs.xpath(".//*[@role='tab']")]
        panels = tabs.getparent().xpath(".//*[@role='tabpanel']")
        if len(names) == len(panels) > 1 and all(names):
            remove(tabs)
            for name, panel in zip(names, panels, strict=True):
                panel.attrib.clear()
                _lead(panel, name)


def _lead(box: HtmlElement, name: str) -> None:
    first = inner = box
    while (
        inner is not None and (inner is box or inner.tag in ("div", "p", "section")) and not (first.text or "").strip()
    ):
        first, inner = inner, next((each for each in inner if shown_words(each) or (each.tail or "").strip()), None)
    if first.tag == "p" or (first.text or "").strip():
        first.text = f"{name}: {(first.text or '').lstrip()}"
    else:
        label = first.makeelement("p")
        label.text = f"{name}:"
        first.insert(0, label)


_BOX_TITLES = (  # of Sphinx, MkDocs, Docusaurus, GitHub, Confluence and Bootstrap, and of what a reader unfolds
    "//details/summary[not(.//h1 or .//h2 or .//h3 or .//h4)] | //*[contains(@class, 'information-macro')]/p[@class='title']"
    " | //*[self::p or self::div][contains(@class, 'admonition-title') or contains(@class, 'admonitionHeading')"
    " or contains(@class, 'markdown-alert-title') or contains(@class, 'expand-control') or contains(@class, 'panelHeader')"
    f" or ({_has_class('card-header')} and contains(../@class, 'card'))"
    f" or ({_has_class('panel-heading')} and contains(../@class, 'panel'))][not(.//h1 or .//h2 or .//h3 or .//h4)]"
)
_LONGEST_NAME = 60


def remove_asking(part: HtmlElement) -> None:
    """Remove a part that only asks readers for their opinion of the page, or says how they answered, with the box around it.

    A question in a table stays: it names the row of a survey.
    """
    asking = None
    if next(part.iterancestors("td", "th"), None) is not None:
        return
    while part.tag != "body":
        text = ""
        for each in part.itertext():
            text += f" {each}"
            if len(text) > _LONGEST_ASKED:
                break
        text = " ".join(text.split())
        if not _ASKED.fullmatch(text) or _ANSWER.fullmatch(text):
            break
        asking, part = part, part.getparent()
    if asking is not None:
        remove(asking)


_LONGEST_ASKED = 200  # characters of what asks the reader for an opinion
_ASKED = re.compile(
    r"(?:(?:(?:was|is|did) this (?:answer|article|content|information|page|post|section|topic)s? (?:\w+ )?(?:helpful|help|useful)"
    r"(?: to you)?\?|did you find (?:it|this(?: \w+)?) (?:helpful|useful)\?|yes|no|\d+ (?:out )?of \d+ found this(?: article)? "
    r"(?:helpful|useful)\.?|have more questions\?|submit a request|(?:please )?sign in to leave a comment\.?|0 comments"
    r"|return to top|back to top|thanks? (?:you )?for your feedback[.!]?)\s*)+",
    re.IGNORECASE,
)
MAY_ASK = re.compile(r"\s*(?:\d|back|did|have|is|please|return|sign|submit|was)", re.IGNORECASE)
_ANSWER = re.compile(r"(?:(?:yes|no)\s*)+", re.IGNORECASE)


_ICONS = " | ".join(  # but for those that readers press
    f".//{sign}[not(ancestor::a or ancestor::button)]/@{name}"
    for sign, name in (
        ("i", "class"),
        ("span", "class"),
        ("svg", "class"),
        ("use", "*[contains(name(), 'href')]"),
        ("img", "src"),
    )
)
_IS_ICON = re.compile(
    r"(?<![a-z])(?:bi|fa[a-z]?|glyphicon|icons?|svg|dashicons)(?![a-z])|\.(?:gif|jpe?g|png|svg|webp)$|^#"
)
_YES = frozenset(["check", "checked", "checkmark", "ok", "tick", "yes"])
_NO = frozenset(["ban", "cancel", "close", "cross", "no", "remove", "times", "x", "xmark"])
_SHAPES = frozenset(  # what the name of an icon says besides: "bi-x-circle-fill"; another word makes it another icon: "x-ray"
    re.split(
        r"\W+",
        "bi black bold circle dashicons fa fab fal far fas fill glyphicon gray green grey icon icons large lg light mark o "
        "outline outlined red regular round sharp sign small sm solid square svg thick thin",
    )
)
_OF_ICON = _SHAPES | _YES | _NO
_LETTERS = re.compile(r"(?<![a-z\d])[a-z]+")  # not of "logo@2x"
_ENDING = re.compile(r"\.[a-z]+$")


def sign_of(cell: HtmlElement) -> str:
    """What the picture or icon in a cell without words says, yes or no; empty if that is unknown."""
    names = [str(name).lower().rpartition("/")[2] for name in cell.xpath(_ICONS)]
    signs = [sign for name in names if _IS_ICON.search(name) for sign in _ENDING.sub("", name).split()]
    parts = {part for sign in signs if _OF_ICON.issuperset(own := _LETTERS.findall(sign)) for part in own}
    is_yes, is_no = bool(parts & _YES), bool(parts & _NO)
    return "" if is_yes == is_no else "✓" if is_yes else "✗"


def head_articles(tree: HtmlElement) -> None:
    """Make headings of the title and the articles of a law of the European Union, in place, each with the name below it."""
    titles = tree.xpath("//p[@class='oj-doc-ti' or @class='doc-ti']")
    for number, line in enumerate(titles):
        line.tag = "h1" if not number else "p"
    for article in tree.xpath("//p[@class='oj-ti-art' or @class='ti-art']"):
        named = next(
            iter(article.xpath("following-sibling::*[1]/descendant-or-self::p[contains(@class, 'sti-art')]")), None
        )
        text = shown_words(article)
        if named is not None:
            text = f"{text}: {shown_words(named)}"
            remove(named)
        del article[:]
        article.text, article.tag = text, "h3"


def remove(element: HtmlElement) -> None:
    """Remove an element and keep the text after it."""
    parent, before = element.getparent(), element.getprevious()
    if element.tail and element.tail.strip():
        if before is None:
            parent.text = (parent.text or "") + element.tail
        else:
            before.tail = (before.tail or "") + element.tail
    element.tail = None
    parent.remove(element)


def shown_words(element: HtmlElement) -> str:
    """All words of an element, with single spaces between."""
    return " ".join(element.text_content().split())
