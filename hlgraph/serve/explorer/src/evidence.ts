// A piece of evidence: its text in its place, and the path that led there.
import { ask, get, route, type Explained, type Piece, type SourceOpened, type TraceNode, type TracePath } from "./api";
import { counted, h, isAborted, loaded, offset, partly, plain, shortUri, titleOf, type Child } from "./dom";
import { link, type View } from "./view";

const AROUND = 280; // characters before and after the evidence

export interface Question { question: string; strategy: string; where: string }
export interface Search extends Question { unit: string; k: number }

export function asked({ question, strategy, where }: Question): Record<string, unknown> {
  return { question, strategy, ...(where ? { where } : {}) };
}

export function place(piece: Piece): Child[] {
  return [
    piece.page ? h("span", { class: "tag" }, `Page ${piece.page}`) : null,
    h("span", {}, `characters ${piece.start}–${piece.end}`),
  ];
}

export const sourceLink = (piece: { start: number; end: number; source: { id: string } | null; page?: number | null }): string =>
  link("source", piece.source?.id ?? "", { start: piece.start, end: piece.end, page: piece.page });

/** The evidence, open: heading, the words around it, links, and how it was found. */
export function opened(piece: Piece, view: View, search: Search): HTMLElement {
  const excerpt = h("div", { class: "excerpt" });
  const path = h("div");
  const details = h("details", { class: "way" }, h("summary", {}, "The path that led here"), path);
  details.addEventListener("toggle", () => {
    if (details.open && !path.childElementCount) void loaded(path, "Asking again, with an explanation…", () => way(piece, view, search)).catch(report);
  });
  void loaded(excerpt, "Loading the source…", () => around(piece, view)).catch(report);
  return h("article", { class: "card evidence", "aria-labelledby": "evidence-title" },
    h("p", { class: "eyebrow" }, `Evidence ${piece.number} · ${piece.kind}`, piece.is_stale ? h("span", { class: "tag warn" }, "stale") : null),
    h("h2", { id: "evidence-title", tabindex: "-1" }, titleOf(piece.source)),
    h("p", { class: "quiet small" }, [...new Set(piece.headings)].filter((name) => name !== piece.source.title).join(" › ")),
    excerpt,
    h("p", { class: "place" }, place(piece), h("a", { class: "button", href: sourceLink(piece) }, "Open in the whole text")),
    piece.rests_on.length ? h("div", {}, h("h3", {}, "It rests on"), partly(piece.rests_on, "pieces", (part) =>
      h("li", {}, h("a", { href: sourceLink(part) }, titleOf(part.source)), " — ", part.text), { size: 10 })) : null,
    details,
    h("details", {}, h("summary", {}, "Scores"), h("dl", { class: "facts" },
      h("dt", {}, "score"), h("dd", {}, piece.score.toPrecision(4)),
      Object.entries(piece.why).map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "number" ? value.toPrecision(4) : plain(value))])),
      h("p", { class: "quiet small" }, shortUri(piece.source.uri))));
}

const report = (error: unknown): void => {
  if (!isAborted(error)) throw error;
};

async function around(piece: Piece, view: View): Promise<Child> {
  if (piece.kind === "summary") return h("blockquote", {}, piece.text);
  const { text } = await get<SourceOpened>(route(view.corpus, "sources", piece.source.id), view.signal);
  const start = offset(text, piece.start);
  const end = start + offset(text.slice(start), piece.end - piece.start);
  const first = Math.max(0, text.lastIndexOf("\n\n", start) + 1, start - AROUND);
  const paragraph = text.indexOf("\n\n", end);
  const last = Math.min(paragraph < 0 ? text.length : paragraph, end + AROUND);
  return h("blockquote", {}, first > 0 ? "… " : null, text.slice(first, start).trimStart(), h("mark", {}, text.slice(start, end)),
    text.slice(end, last).trimEnd(), last < text.trimEnd().length ? " …" : null);
}

async function way(piece: Piece, view: View, search: Search): Promise<Child> {
  const body = { ...asked(search), ...(search.unit ? { unit: search.unit } : {}), k: Math.max(search.k, 1) };
  const explained = await ask<Explained>("POST", route(view.corpus, "explain"), { body, signal: view.signal });
  const result = explained.explanation.results.find((each) => each.node.id === piece.id);
  const paths = (result?.paths ?? []).flatMap((number) => explained.explanation.paths[number - 1] ?? []);
  return [
    result ? null : h("p", {}, "The search for the explanation did not return this piece; what it did is below."),
    result && !paths.length ? h("p", {}, origin(result.node)) : null,
    paths.length ? h("p", { class: "quiet small" }, `${counted(paths.length, "path")} to this piece, the best first.`) : null,
    paths.length ? partly([...paths].sort((a, b) => b.score - a.score), "paths", drawn, { size: 2, list: h("ol", { class: "plain" }) }) : null,
    h("details", {}, h("summary", {}, "The whole search in words"), h("pre", { class: "words", tabindex: "0" }, explained.text)),
  ];
}

function origin(node: TraceNode): string {
  return node.seed_rank ? `The search found it itself, as number ${node.seed_rank} of its kind.` :
    "The graph led to it from what the search found.";
}

function drawn(path: TracePath): HTMLElement {
  return h("li", {}, h("ol", { class: "chain" }, path.nodes.map((node, at) => {
    const joined = path.joined_by[at - 1] ?? [];
    return [
      at ? h("li", { class: "joint" }, path.jumps.includes(at) ? "the walk jumped" : joined.length ? joined.map((name, n) =>
        [n ? ", " : null, name.includes(" ~ ") ? name : h("a", { href: link("entity", name) }, name)]) : "neighbours in the graph") : null,
      h("li", { class: node.kind }, node.kind === "entity" ? h("a", { href: link("entity", node.id) }, node.name) : node.name || node.id),
    ];
  })));
}

