// Entities: their list, and the page of one with its facts, its neighbours, its merges, and the way to another one.
import { ask, get, route, withQuery, type Decision, type EntitiesListed, type Entity, type EntityOpened, type Fact, type FactOpened, type Merged, type PathFound, type Said } from "./api";
import { count, counted, h, isAborted, loaded, problemBox, replace, say, shownOf, titleOf, type Child } from "./dom";
import { go, link, type View } from "./view";

const PAGE = 25;
const quietly = (error: unknown): void => {
  if (!isAborted(error)) throw error;
};

/** Load page after page into one list; `load` says where the next page begins. */
export function pages<T>(place: Element, noun: string, item: (value: T) => Node, load: (after: string | null) => Promise<{ items: T[]; total: number | null; after: string | null }>, empty: Child, list: HTMLElement = h("ul", { class: "plain lines" })): Promise<void> {
  const foot = h("div");
  let shown = 0;
  const next = async (after: string | null): Promise<Child> => {
    const page = await load(after);
    for (const value of page.items) list.append(item(value));
    const first = shown;
    shown += page.items.length;
    if (first) list.children[first]?.querySelector<HTMLElement>("a, button")?.focus();
    if (!shown && page.after === null) return empty;
    return shownOf(shown, page.total, noun, page.after === null ? null : () => void loaded(foot, "Loading…", () => next(page.after)).catch(quietly));
  };
  place.append(list, foot);
  return loaded(foot, "Loading…", () => next(null));
}

export async function entitiesView(view: View): Promise<void> {
  const name = view.query.get("name") ?? "";
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    go("entities", "", { name: String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim() });
  };
  const place = h("section", { class: "card", "aria-label": "Entities" });
  view.main.append(h("h1", {}, "Entities"),
    h("form", { role: "search", class: "row spaced", onsubmit: send },
      h("label", { class: "grow" }, h("span", {}, "Words in the name"), h("input", { name: "name", type: "search", value: name, autocomplete: "off" })),
      h("button", { class: "button primary" }, "Find")), place);
  await pages<Entity>(place, "entities", (each) => h("li", {}, entityLink(each), each.kind ? h("span", { class: "tag" }, each.kind) : null,
    each.names.length > 1 ? h("span", { class: "quiet small" }, ` also ${each.names.filter((other) => other !== each.name).join(", ")}`) : null),
  async (after) => {
    const page = await get<EntitiesListed>(withQuery(route(view.corpus, "entities"), { limit: 100, name, after }), view.signal);
    return { items: page.entities, total: page.total, after: page.after };
  }, h("p", { class: "empty" }, name ? "No entity has these words in its name." : "No entities yet."));
}

const entityLink = (entity: Entity): HTMLElement => h("a", { href: link("entity", entity.id) }, entity.name);

export async function entityView(view: View): Promise<void> {
  const place = h("div");
  view.main.append(place);
  await loaded(place, "Loading the entity…", async () => {
    const opened = await around(view, view.id, 0);
    document.title = `${opened.entity.name} · hlgraph`;
    return drawn(view, opened);
  });
}

const around = (view: View, id: string, skip: number): Promise<EntityOpened> =>
  get<EntityOpened>(withQuery(route(view.corpus, "entities", id), { limit: PAGE, skip }), view.signal);

function drawn(view: View, opened: EntityOpened): Child {
  const { entity } = opened;
  const others = entity.names.filter((name) => name !== entity.name);
  const least = opened.is_cut ? "at least " : "";
  return [
    h("p", { class: "eyebrow" }, "Entity", entity.kind ? h("span", { class: "tag" }, entity.kind) : null),
    h("h1", {}, entity.name),
    others.length ? h("p", { class: "quiet" }, "Also called ", others.join(", ")) : null,
    h("p", { class: "quiet" }, least, `${counted(opened.statement_count, "statement")}, ${counted(opened.fact_count, "fact")}, ${counted(opened.neighbour_count, "neighbour")}`),
    h("div", { class: "columns" },
      h("section", { class: "card", "aria-label": "Facts" }, h("h2", {}, "Facts"), facts(view, opened)),
      h("div", {},
        h("section", { class: "card", "aria-label": "Neighbours" }, h("h2", {}, "Neighbours"), h("p", { class: "quiet small" }, "Entities that the same statements mention."), neighbours(view, opened)),
        h("section", { class: "card", "aria-label": "Path" }, h("h2", {}, "Path to another entity"), pathForm(view, entity)),
        h("section", { class: "card", "aria-label": "Merges" }, h("h2", {}, "Merges"), merges(view, opened)))),
  ];
}

/** A part of an entity page whose list grows by pages of the route. */
function growing<T>(first: T[], total: number, noun: string, item: (value: T) => Node, load: (skip: number) => Promise<T[]>, list: HTMLElement): HTMLElement {
  const place = h("div");
  if (!total) {
    place.append(h("p", { class: "empty" }, `No ${noun}.`));
    return place;
  }
  void pages<T>(place, noun, item, async (after) => {
    const skip = Number(after ?? 0);
    const items = skip ? await load(skip) : first;
    return { items, total, after: skip + items.length < total && items.length ? String(skip + items.length) : null };
  }, null, list).catch(quietly);
  return place;
}

const facts = (view: View, opened: EntityOpened): HTMLElement =>
  growing(opened.facts, opened.fact_count, "facts", (each) => factItem(each, opened.entity.id), async (skip) => (await around(view, opened.entity.id, skip)).facts, h("ul", { class: "plain lines" }));

function end(id: string | null, name: string, own: string): Child {
  return id && id !== own ? h("a", { href: link("entity", id) }, name) : name;
}

const triple = (fact: Fact, own: string): Child[] =>
  [end(fact.subject_id, fact.subject, own), " ", h("i", {}, fact.predicate), " ", end(fact.object_id, fact.object, own)];

const saidItem = (said: Said): HTMLElement =>
  h("li", {}, h("a", { href: link("source", said.source?.id ?? "", { start: said.start, end: said.end }) }, said.text), " ",
    h("span", { class: "quiet small" }, said.source ? titleOf(said.source) : ""));

function factItem({ fact, statements, total }: FactOpened, own: string): HTMLElement {
  return h("li", { class: "fact" },
    h("p", { class: "triple" }, triple(fact, own)),
    h("ul", { class: "plain said" }, statements.map(saidItem)),
    total > statements.length ? moreStatements(fact.id, statements.length, total) : null);
}

function moreStatements(id: string, shown: number, total: number): HTMLElement {
  return h("p", { class: "quiet small" }, `${count(shown)} of ${count(total)} statements shown. `, h("a", { href: link("fact", id) }, "All statements"));
}

export async function factView(view: View): Promise<void> {
  const place = h("div");
  view.main.append(place);
  const open = (skip: number): Promise<FactOpened> => get<FactOpened>(withQuery(route(view.corpus, "facts", view.id), { limit: 100, skip }), view.signal);
  await loaded(place, "Loading the fact…", async () => {
    const { fact, statements, total } = await open(0);
    return [h("p", { class: "eyebrow" }, "Fact"), h("h1", {}, fact.text),
      h("section", { class: "card" }, h("p", { class: "triple" }, triple(fact, "")),
        growing(statements, total, "statements", saidItem, async (skip) => (await open(skip)).statements, h("ul", { class: "plain said" })))];
  });
}

function neighbours(view: View, opened: EntityOpened): HTMLElement {
  const most = opened.neighbours[0]?.statements ?? 1;
  return growing(opened.neighbours, opened.neighbour_count, "neighbours", ({ entity, statements }) => {
    const bar = h("span", { class: "bar-of", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${(100 * statements) / most}%`);
    return h("li", { class: "near" }, entityLink(entity), h("span", { class: "quiet small" }, counted(statements, "statement")), bar);
  }, async (skip) => (await around(view, opened.entity.id, skip)).neighbours, h("ul", { class: "plain" }));
}

function pathForm(view: View, entity: Entity): HTMLElement {
  const result = h("div", { "aria-live": "polite" });
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const to = String(new FormData(event.target as HTMLFormElement).get("to") ?? "").trim();
    void loaded(result, "Looking for a path…", async () => {
      const found = await get<PathFound>(withQuery(route(view.corpus, "path"), { from: entity.id, to }), view.signal);
      if (!found.entities.length) return h("p", {}, found.is_complete ? "No path of at most four facts leads there." : "No path was found; not every fact was looked at.");
      return h("ol", { class: "chain" }, found.entities.map((each, at) => {
        const fact = found.facts[at - 1];
        const said = fact?.statements[0];
        return [fact ? h("li", { class: "joint" }, said ? h("a", { href: link("source", said.source?.id ?? "", { start: said.start, end: said.end }) }, fact.fact.text) : fact.fact.text) : null,
          h("li", { class: "entity" }, entityLink(each))];
      }));
    }).catch(quietly);
  };
  return h("div", {}, h("form", { class: "row spaced", onsubmit: send },
    h("label", { class: "grow" }, h("span", {}, "Name of the other entity"), h("input", { name: "to", required: true, autocomplete: "off" })),
    h("button", { class: "button" }, "Find a path")), result);
}

function merges(view: View, { entity, merged }: EntityOpened): HTMLElement {
  const list = h("div");
  const said = h("div", { "aria-live": "polite" });
  const names = new Map([entity, ...merged].map((each) => [each.id, each.name]));
  const show = (): Promise<void> => loaded(list, "Loading the decisions…", async () => {
    const of = (skip: number): Promise<Merged> => get<Merged>(withQuery(route(view.corpus, "merges"), { entity: entity.id, limit: 100, skip }), view.signal);
    const { decisions, total } = await of(0);
    if (!decisions.length) return h("p", { class: "empty" }, "No decision about this entity.");
    return growing(decisions, total ?? decisions.length, "decisions", item, async (skip) => (await of(skip)).decisions, h("ul", { class: "plain lines" }));
  });
  const item = (decision: Decision): HTMLElement => {
    const name = (id: string): Child => {
      const text = decision.names[id] ?? names.get(id) ?? id;
      return id === entity.id ? h("b", {}, text) : h("a", { href: link("entity", id) }, text);
    };
    const words = { same: " is the same as ", different: " is kept apart from ", open: " may be the same as " }[decision.verdict] ?? ` ${decision.verdict} `;
    return h("li", {}, name(decision.alias), words, name(decision.canonical), h("span", { class: "quiet small" }, ` by ${decision.made_by}${decision.why ? `: ${decision.why}` : ""} `),
      h("button", { type: "button", class: "button small-button", onclick: () => act(() => ask("DELETE", route(view.corpus, "merges", decision.id)), "The decision was undone.") }, "Undo"));
  };
  const act = async (work: () => Promise<unknown>, text: string): Promise<void> => {
    try {
      await work();
      replace(said, h("p", { class: "done" }, text));
      say(text);
      await show();
    } catch (error) {
      if (!isAborted(error)) replace(said, problemBox(error));
    }
  };
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const other = String(form.get("other") ?? "").trim();
    const isApart = form.get("verdict") === "apart";
    void act(() => ask("POST", route(view.corpus, "merges"), { body: { pairs: [[other, entity.id]], keep_apart: isApart, why: String(form.get("why") ?? "") } }),
      isApart ? `${other} is kept apart.` : `${other} is merged into ${entity.name}.`);
  };
  void show().catch(quietly);
  return h("div", {},
    merged.length ? h("p", {}, "Merged with ", merged.map((each, at) => [at ? ", " : null, entityLink(each)]), ".") : null,
    list, said,
    h("details", {}, h("summary", {}, "Decide about another entity"), h("form", { class: "stack", onsubmit: send },
      h("label", {}, h("span", {}, "Name or id of the other entity"), h("input", { name: "other", required: true, autocomplete: "off" })),
      h("label", {}, h("span", {}, "Decision"), h("select", { name: "verdict" }, h("option", { value: "same" }, "The same: merge it into this one"), h("option", { value: "apart" }, "Different: keep them apart"))),
      h("label", {}, h("span", {}, "Why"), h("input", { name: "why", autocomplete: "off" })),
      h("button", { class: "button" }, "Decide"))));
}
