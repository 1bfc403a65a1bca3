// Two strategies on one question, side by side.
import { type Piece } from "./api";
import { collect, questionForm, strategyField, type Collected } from "./ask";
import { busy, count, counted, h, isAborted, needsKey, partly, problemBox, replace, titleOf } from "./dom";
import { place, sourceLink } from "./evidence";
import { go, link, type View } from "./view";

export async function compareView(view: View): Promise<void> {
  const question = view.query.get("q") ?? "";
  const where = view.query.get("where") ?? "";
  const pair = [view.query.get("left") ?? "chunk", view.query.get("right") ?? "auto"];
  const send = (form: FormData): void => {
    const [q, left, right, filter] = ["q", "left", "right", "where"].map((name) => String(form.get(name) ?? "").trim());
    go("compare", "", { q, left, right, where: filter });
  };
  const result = h("div");
  view.main.append(h("section", { class: "hero asked" }, h("h1", {}, "Compare two strategies"),
    questionForm(view, [strategyField(view, "left", "Left", pair[0]!), strategyField(view, "right", "Right", pair[1]!)], send, "Compare")), result);
  if (!question) {
    result.append(h("p", { class: "lead" }, "Both strategies answer the same question. What both of them found is marked."));
    return;
  }
  const shared = h("p", { class: "quiet", role: "status" });
  const columns = pair.map((strategy) => h("section", { class: "card", "aria-label": `Strategy ${strategy}` }, h("h2", {}, strategy), busy("Asking…")));
  result.append(shared, h("div", { class: "pair" }, columns));
  const results = await Promise.all(pair.map(async (strategy, at) => {
    try {
      return await collect(view, { question, strategy, where });
    } catch (error) {
      if (isAborted(error) || needsKey(error)) throw error;
      replace(columns[at]!, h("h2", {}, strategy), problemBox(error));
      return null;
    }
  }));
  const isOneUnit = results[0]?.plan?.unit === results[1]?.plan?.unit;
  const key = (piece: Piece): string => isOneUnit ? piece.id : piece.chunk_id || piece.id;
  const places = results.map((each) => new Set(each?.evidence.map(key) ?? []));
  const both = [...places[0]!].filter((each) => places[1]!.has(each)).length;
  if (results[0] && results[1]) shared.textContent = `${counted(both, isOneUnit ? "piece of evidence" : "chunk", isOneUnit ? "pieces of evidence" : "chunks")} in both, ${count(places[0]!.size - both)} only left, ${count(places[1]!.size - both)} only right.`;
  results.forEach((each, at) => {
    if (each) replace(columns[at]!, drawn(pair[at]!, each, { question, where }, (piece) => places[1 - at]!.has(key(piece))));
  });
}

function drawn(strategy: string, { done, evidence, plan }: Collected, asked: { question: string; where: string }, isShared: (piece: Piece) => boolean): HTMLElement {
  return h("div", {}, h("div", { class: "found-head" }, h("h2", {}, strategy), h("a", { class: "small", href: link("ask", "", { q: asked.question, where: asked.where, strategy }) }, "Open this answer")),
    h("p", { class: "quiet small" }, plan ? `${plan.unit}s · ${count(Math.round(plan.milliseconds))} ms · ${counted(plan.round_trips, "round trip")}` : ""),
    h("ul", { class: "plain sentences" }, (done.sentences.length ? done.sentences.map((each) => each.text) : [done.answer]).map((text) => h("li", {}, text.replaceAll(/\s*\[\d+\]/g, "")))),
    h("h3", {}, counted(evidence.length, "piece"), " of evidence"),
    partly(evidence, "pieces", (piece) => h("li", { class: "piece" },
      h("span", { class: "found-head" }, h("a", { href: sourceLink(piece) }, h("b", {}, titleOf(piece.source))), isShared(piece) ? h("span", { class: "tag" }, "in both") : null),
      h("span", { class: "clip" }, piece.text), h("span", { class: "quiet small found-foot" }, place(piece))), { size: 10, list: h("ol", { class: "plain" }) }));
}
