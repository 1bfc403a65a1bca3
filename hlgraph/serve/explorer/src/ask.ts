// A question, its answer as it comes, and the evidence of each sentence.
import { events, get, Refusal, route, unreachable, type Answered, type Piece, type Plan, type Sentence, type Stats } from "./api";
import { busy, count, counted, h, isAborted, needsKey, partly, problemBox, replace, say, titleOf, type Child } from "./dom";
import { asked, opened, place, type Question } from "./evidence";
import { go, link, type View } from "./view";

export function questionForm(view: View, fields: Child, send: (form: FormData) => void, action = "Ask"): HTMLElement {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    send(new FormData(event.target as HTMLFormElement));
  };
  const where = view.query.get("where") ?? "";
  return h("form", { class: "question", role: "search", onsubmit: submit },
    h("label", { for: "question" }, "Question"),
    h("div", { class: "ask-row" },
      h("input", { id: "question", name: "q", type: "search", required: true, maxlength: 10000, autocomplete: "off", value: view.query.get("q"), placeholder: "Ask your documents…" }),
      h("button", { class: "button primary" }, action)),
    h("div", { class: "options" }, fields,
      h("label", {}, h("span", {}, "Only sources where"),
        h("input", { name: "where", value: where, placeholder: "year >= 1890", autocomplete: "off", spellcheck: "false" }))));
}

export function strategyField(view: View, name: string, label: string, chosen: string): HTMLElement {
  return h("label", {}, h("span", {}, label), h("select", { name },
    view.strategies.map((each) => h("option", { value: each, selected: each === chosen }, each))));
}

export function askView(view: View): Promise<void> | void {
  const question: Question = {
    question: view.query.get("q") ?? "", strategy: view.query.get("strategy") ?? "auto", where: view.query.get("where") ?? "",
  };
  const send = (form: FormData): void => {
    const [q, strategy, where] = ["q", "strategy", "where"].map((name) => String(form.get(name) ?? "").trim());
    const before = location.hash;
    go("ask", "", { q, strategy: strategy === "auto" ? "" : strategy, where });
    if (location.hash === before) dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const place = h("div", { class: "columns" });
  const isEmpty = !question.question;
  view.main.append(h("section", { class: isEmpty ? "hero" : "hero asked" },
    h("h1", {}, isEmpty ? "Ask, and see where it says so" : "Answer"),
    isEmpty ? h("p", { class: "lead" }, `Every sentence of an answer opens its evidence: the characters in the source, and the path that led there.`) : null,
    questionForm(view, strategyField(view, "strategy", "Strategy", question.strategy), send)), place);
  if (isEmpty) {
    view.main.querySelector<HTMLInputElement>("#question")?.focus();
    return counts(view);
  }
  return answered(view, question, place);
}

/** What there is to ask; a caller who may not see all of it is shown nothing. */
async function counts(view: View): Promise<void> {
  try {
    const { records } = await get<Stats>(route(view.corpus, "stats"), view.signal);
    const kinds: [string, string, string][] = [["source", "source", "sources"], ["entity", "entity", "entities"], ["fact", "fact", "entities"], ["statement", "statement", "sources"]];
    view.main.querySelector(".hero")?.append(records["source"] ? h("ul", { class: "counts" }, kinds.map(([kind, one, to]) => {
      const total = records[kind] ?? 0;
      return h("li", {}, h("a", { href: link(to) }, h("b", {}, count(total)), total === 1 ? one : one === "entity" ? "entities" : `${one}s`));
    })) : h("p", { class: "empty" }, "Nothing is ingested yet. ", h("a", { href: link("sources") }, "Add your first sources"), "."));
  } catch (error) {
    if (!(error instanceof Refusal) || error.problem.status === 401) throw error;
  }
}

export interface Collected { done: Answered; evidence: Piece[]; plan: Plan | null }

/** The answer with all evidence that was found; `onStep` is told of what comes before. */
export async function collect(view: View, question: Question, onStep: (evidence: Piece[], text: string) => void = () => undefined): Promise<Collected> {
  let evidence: Piece[] = [];
  let plan: Plan | null = null;
  let text = "";
  for await (const event of events("POST", route(view.corpus, "answer"), { body: asked(question), signal: view.signal })) {
    if (event.name === "done") return { done: event.data as Answered, evidence, plan };
    if (event.name === "plan") plan = event.data as Plan;
    else if (event.name === "evidence") ({ evidence } = event.data as { evidence: Piece[] });
    else if (event.name === "text") text += (event.data as { text: string }).text;
    onStep(evidence, text);
  }
  throw new Refusal(unreachable());
}

async function answered(view: View, question: Question, columns: HTMLElement): Promise<void> {
  const answer = h("section", { class: "answer", "aria-label": "Answer", "aria-busy": "true" }, busy("Looking for evidence…"));
  const side = h("aside", { class: "side", "aria-label": "Evidence" });
  columns.append(answer, side);
  try {
    const collected = await collect(view, question, (evidence, text) =>
      replace(answer, text ? h("p", { class: "streamed" }, text) : null, busy(text ? "Checking each sentence…" : `${counted(evidence.length, "piece")} of evidence; writing the answer…`)));
    drawn(view, question, answer, side, collected);
  } catch (error) {
    if (isAborted(error) || needsKey(error)) throw error;
    replace(answer, problemBox(error, () => {
      columns.replaceChildren();
      void answered(view, question, columns);
    }));
  } finally {
    answer.removeAttribute("aria-busy");
  }
}

function drawn(view: View, question: Question, answer: HTMLElement, side: HTMLElement, { done, evidence, plan }: Collected): void {
  const controls: HTMLElement[] = [];
  const search = { ...question, unit: plan?.unit ?? "", k: evidence.length };
  const open = (piece: Piece, control: HTMLElement): void => {
    for (const each of controls) each.setAttribute("aria-expanded", String(each === control));
    replace(side, opened(piece, view, search));
    const title = side.querySelector("h2");
    title?.focus({ preventScroll: true });
    if (!matchMedia("(min-width: 60rem)").matches) side.scrollIntoView({ block: "start" });
  };
  const opener = (tag: "button", attributes: Record<string, string>, piece: Piece, ...children: Child[]): HTMLElement => {
    const control = h(tag, { type: "button", "aria-expanded": "false", ...attributes, onclick: () => open(piece, control) }, ...children);
    controls.push(control);
    return control;
  };
  const byNumber = new Map(done.citations.map((piece) => [piece.number, piece]));
  const sentence = (part: Sentence): HTMLElement => {
    const pieces = part.citations.flatMap((number) => byNumber.get(number) ?? []);
    const words = part.text.split(/\s*\[\d+\]/).join("").trim();
    const note = part.is_supported ? null : h("span", { class: "tag warn" }, part.reason || "not supported by its evidence");
    if (!pieces.length) return h("li", { class: "sentence bare" }, words, " ", note);
    return h("li", { class: "sentence" }, opener("button", { class: "words" }, pieces[0]!, words),
      " ", pieces.map((piece) => opener("button", { class: "cite", "aria-label": `Evidence ${piece.number}: ${titleOf(piece.source)}` }, piece, piece.number)), " ", note);
  };
  const sentences = done.sentences.length ? h("ol", { class: "sentences" }, done.sentences.map(sentence)) : h("p", { class: "streamed" }, done.answer);
  const cited = new Set(done.citations.map((piece) => piece.id));
  replace(answer,
    done.is_supported ? null : h("p", { class: "tag warn" }, done.reason ? `Not supported. ${done.reason}` : "No sentence of this answer is supported by evidence"),
    sentences,
    h("p", { class: "quiet small" }, [
      plan ? `${plan.strategy} · ${count(Math.round(plan.milliseconds))} ms` : null,
      done.made_by ? `written by ${done.made_by}` : "sentences of the sources, without a chat model",
      done.left_out ? `${counted(done.left_out, "piece")} of evidence did not fit` : null,
      done.is_truncated ? "cut by the length limit of the chat model" : null,
    ].filter(Boolean).join(" · ")),
    done.uncovered.length && !done.reason ? h("p", { class: "quiet" }, "Nothing was found about: ", done.uncovered.join("; ")) : null,
    h("h2", {}, "All evidence that was found"),
    evidence.length ? partly(evidence, "pieces", (piece) => h("li", {}, opener("button", { class: "found" }, piece,
      h("span", { class: "found-head" }, h("b", {}, titleOf(piece.source)), cited.has(piece.id) ? h("span", { class: "tag" }, "cited") : null),
      h("span", { class: "clip" }, piece.text), h("span", { class: "quiet small found-foot" }, place(piece)))), { size: 10 }) :
      h("p", { class: "empty" }, "No evidence. Ask with other words, or remove the filter."));
  if (done.citations[0] && matchMedia("(min-width: 60rem)").matches) {
    replace(side, opened(done.citations[0], view, search));
    controls[0]?.setAttribute("aria-expanded", "true");
  }
  say(`Answer: ${done.answer}`);
}
