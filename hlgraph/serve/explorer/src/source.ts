// A source: its whole text, with the characters of a span highlighted.
import { ask, get, route, type SourceOpened, type Span } from "./api";
import { counted, h, loaded, metadataList, offset, partly, problemBox, replace, say, titleOf, type Child } from "./dom";
import { go, link, type View } from "./view";

const PAGE_BREAK = "\f";

export async function sourceView(view: View): Promise<void> {
  const start = Number(view.query.get("start") ?? NaN);
  const end = Number(view.query.get("end") ?? NaN);
  const place = h("div");
  view.main.append(place);
  await loaded(place, "Loading the source…", async () => drawn(view, await get<SourceOpened>(route(view.corpus, "sources", view.id), view.signal), start, end));
  place.querySelector("mark")?.scrollIntoView({ block: "center" });
}

function drawn(view: View, opened: SourceOpened, start: number, end: number): Child {
  const { source, text } = opened;
  document.title = `${titleOf(source)} · hlgraph`;
  const hasSpan = start >= 0 && end > start;
  const page = hasSpan ? pageOf(opened, start) : null;
  return [
    h("p", { class: "eyebrow" }, "Source"),
    h("h1", {}, titleOf(source)),
    h("p", { class: "quiet uri" }, source.uri),
    hasSpan ? h("p", { class: "place" }, page ? h("span", { class: "tag" }, `Page ${page}`) : null,
      h("span", {}, `Characters ${start}–${end} are highlighted.`),
      h("button", { type: "button", class: "button", onclick: () => document.querySelector("mark")?.scrollIntoView({ block: "center" }) }, "Go to the highlight")) : null,
    h("div", { class: "columns" },
      h("section", { class: "card text", "aria-label": "Text" }, body(opened, hasSpan ? offset(text, start) : -1, hasSpan ? offset(text, end) : -1)),
      h("aside", { class: "side", "aria-label": "About the source" },
        h("section", { class: "card" }, h("h2", {}, "About"), metadataList(source.metadata) ?? h("p", { class: "empty" }, "No metadata."),
          h("p", { class: "quiet small" }, `${counted(opened.chunks.reduce((most, chunk) => Math.max(most, chunk.end), 0), "character")}, ${counted(opened.chunks.length, "chunk")}, ${counted(opened.statements.length, "statement")}`)),
        h("section", { class: "card" }, h("h2", {}, "Statements"),
          opened.statements.length ? partly(opened.statements, "statements", (each) => h("li", {}, h("a", { href: link("source", source.id, { start: each.start, end: each.end }) }, each.text)), { size: 12, list: h("ul", { class: "plain lines" }) }) :
            h("p", { class: "empty" }, "No statements.")),
        removal(view, opened))),
  ];
}

/** The text, with a line where a page of a PDF begins. */
function body(opened: SourceOpened, start: number, end: number): HTMLElement {
  const { text } = opened;
  const hasPages = opened.chunks.some((chunk) => chunk.page !== null);
  const place = h("div", { class: "whole", tabindex: "0" });
  let page = 1;
  const write = (into: Element, part: string): void => {
    const pages = hasPages ? part.split(PAGE_BREAK) : [part];
    pages.forEach((words, at) => {
      if (at) into.append(h("span", { class: "page-break", "data-page": `Page ${(page += 1)}` }));
      into.append(words);
    });
  };
  if (start < 0) write(place, text);
  else {
    const mark = h("mark", { id: "highlight" });
    write(place, text.slice(0, start));
    write(mark, text.slice(start, end));
    place.append(mark);
    write(place, text.slice(end));
  }
  return place;
}

function pageOf(opened: SourceOpened, start: number): number | null {
  const inside = (span: Span): boolean => span.start <= start && start < span.end;
  const chunk = opened.chunks.find(inside);
  if (!chunk?.page) return null;
  const before = opened.text.slice(offset(opened.text, chunk.start), offset(opened.text, start));
  return chunk.page + before.split(PAGE_BREAK).length - 1;
}

function removal(view: View, { source }: SourceOpened): HTMLElement {
  const place = h("section", { class: "card" });
  const remove = async (): Promise<void> => {
    try {
      await ask("DELETE", route(view.corpus, "sources", source.id));
      say("The source was removed.");
      go("sources");
    } catch (error) {
      replace(place, problemBox(error));
    }
  };
  const sure = (): void => {
    replace(place, h("p", {}, "Remove this source, and everything that only it asserts? This cannot be undone."),
      h("p", { class: "row" }, h("button", { type: "button", class: "button danger", onclick: () => void remove() }, "Remove it"),
        h("button", { type: "button", class: "button", onclick: begin }, "Keep it")));
    place.querySelector("button")?.focus();
  };
  const begin = (): void => replace(place, h("button", { type: "button", class: "quiet-button", onclick: sure }, "Remove this source…"));
  begin();
  return place;
}
