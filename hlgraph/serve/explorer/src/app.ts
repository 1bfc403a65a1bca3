// The frame of the page: which view is shown, of which corpus, with which key.
import { get, hasKey, useKey, type Corpora } from "./api";
import { askView } from "./ask";
import { busy, h, isAborted, needsKey, problemBox, replace, say } from "./dom";
import { compareView } from "./compare";
import { entitiesView, entityView, factView } from "./entity";
import { mapView } from "./map";
import { sourceView } from "./source";
import { sourcesView } from "./sources";
import { go, link, linkWithin, type View } from "./view";

type Draw = (view: View) => Promise<void> | void;
const VIEWS: Record<string, { title: string; draw: Draw; tab?: string }> = {
  ask: { title: "Ask", draw: askView, tab: "Ask" },
  map: { title: "Map", draw: mapView, tab: "Map" },
  entities: { title: "Entities", draw: entitiesView, tab: "Entities" },
  sources: { title: "Sources", draw: sourcesView, tab: "Sources" },
  compare: { title: "Compare", draw: compareView, tab: "Compare" },
  source: { title: "Source", draw: sourceView },
  entity: { title: "Entity", draw: entityView },
  fact: { title: "Fact", draw: factView },
};
const PARENTS: Record<string, string> = { source: "sources", entity: "entities", fact: "entities" };

const main = document.getElementById("main") as HTMLElement;
const nav = document.getElementById("views") as HTMLElement;
const end = document.getElementById("bar-end") as HTMLElement;
let corpora: string[] = [];
let strategies: string[] = [];
let current = new AbortController();
let isFirst = true;

function address(): { name: string; id: string; query: URLSearchParams } {
  const place = location.hash.replace(/^#\/?/, "");
  const [path = ""] = place.split("?");
  const [name = "", ...rest] = path.split("/");
  let id = rest.join("/");
  try {
    id = decodeURIComponent(id);
  } catch {
    // an address that someone wrote by hand
  }
  return { name: name in VIEWS ? name : "ask", id, query: new URLSearchParams(place.slice(path.length)) };
}

async function show(): Promise<void> {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const { name, id, query } = address();
  const shown = VIEWS[name] ?? VIEWS["ask"]!;
  try {
    if (!corpora.length) {
      replace(main, busy("Loading…"));
      await begin(signal);
    }
    const asked = query.get("corpus") ?? "";
    const corpus = asked || (corpora.includes("default") ? "default" : corpora[0]!);
    linkWithin(asked);
    drawBar(name, corpus, id);
    document.title = `${shown.title} · hlgraph`;
    replace(main);
    main.className = `view-${name}`;
    const drawing = shown.draw({ main, corpus, id, query, signal, strategies });
    if (!isFirst) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
      say(shown.title);
    }
    isFirst = false;
    await drawing;
  } catch (error) {
    if (signal.aborted || isAborted(error)) return;
    main.className = "view-ask";
    replace(main, needsKey(error) ? keyForm(hasKey()) : problemBox(error, () => void show()));
    if (needsKey(error)) main.querySelector("input")?.focus();
  }
}

async function begin(signal: AbortSignal): Promise<void> {
  const listed = await get<Corpora>("v1/corpora", signal);
  const names = listed.corpora.map((corpus) => corpus.name);
  const models = names.length ? await get<{ data: { id: string }[] }>("v1/models", signal) : { data: [] };
  const first = `${names[0]}/`;
  strategies = models.data.map((model) => model.id).filter((name) => name.startsWith(first)).map((name) => name.slice(first.length));
  corpora = names.length ? names : ["default"];
}

function drawBar(name: string, corpus: string, id: string): void {
  const tab = PARENTS[name] ?? name;
  replace(nav, Object.entries(VIEWS).filter(([, view]) => view.tab).map(([key, view]) =>
    h("a", { href: link(key), "aria-current": key === tab ? (id ? "true" : "page") : null }, view.tab)));
  const choose = (event: Event): void => go(tab, "", { corpus: (event.target as HTMLSelectElement).value });
  replace(end,
    corpora.length > 1 ? h("label", { class: "corpus" }, h("span", {}, "Corpus"), h("select", { onchange: choose },
      corpora.map((each) => h("option", { value: each, selected: each === corpus }, each)))) : null,
    hasKey() ? h("button", { type: "button", class: "quiet-button", onclick: () => forget() }, "Forget the key") : null);
}

function forget(): void {
  useKey("");
  corpora = [];
  void show();
}

function keyForm(isRefused: boolean): HTMLElement {
  const field = h("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    useKey(field.value.trim());
    corpora = [];
    void show();
  };
  return h("section", { class: "card narrow" }, h("h1", {}, "This server needs a key"),
    isRefused ? h("p", { class: "problem", role: "alert" }, "The server does not accept this key.") : null,
    h("form", { onsubmit: send }, h("label", { for: "key" }, "Key"), field,
      h("p", { class: "quiet small" }, "The page keeps it in memory only, until you close or reload it. The operator of the server makes keys with ",
        h("code", {}, "hlgraph keys add"), "."),
      h("button", { class: "button primary" }, "Use this key")));
}

document.getElementById("skip")?.addEventListener("click", () => main.focus());
addEventListener("hashchange", () => void show());
addEventListener("unhandledrejection", (event) => {
  if (isAborted(event.reason)) event.preventDefault();
  else if (needsKey(event.reason)) {
    event.preventDefault();
    replace(main, keyForm(hasKey()));
  }
});
void show();
