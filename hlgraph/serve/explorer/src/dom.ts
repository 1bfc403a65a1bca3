// Elements, and the parts that all views share. Texts of documents become text nodes, never markup.
import { type Metadata, type Problem, Refusal, type Source } from "./api";

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  fill(element, ...children);
  return element;
}

export function fill(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) fill(element, ...child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  fill(element, ...children);
}

const numbers = new Intl.NumberFormat("en");
export const count = (value: number): string => numbers.format(value);
export const counted = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

/** Tell screen readers what happened. */
export function say(text: string): void {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

export function busy(text: string): HTMLElement {
  return h("p", { class: "busy", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), text);
}

/** Why something failed, and what mends it. */
export function problemBox(error: unknown, again?: () => void): HTMLElement {
  const problem: Problem = error instanceof Refusal ? error.problem : {
    title: "The page failed", status: 0, detail: error instanceof Error ? error.message : String(error), mend: "load the page again",
    retryable: false, id: "",
  };
  const detail = problem.mend && problem.detail.endsWith(`; ${problem.mend}`) ? problem.detail.slice(0, -problem.mend.length - 2) : problem.detail;
  return h("div", { class: "problem", role: "alert" },
    h("strong", {}, problem.title),
    h("p", {}, sentence(detail)),
    problem.mend ? h("p", { class: "mend" }, h("b", {}, "What to do: "), sentence(problem.mend)) : null,
    problem.id ? h("p", { class: "quiet small" }, "Request ", h("code", {}, problem.id)) : null,
    again && problem.retryable ? h("button", { type: "button", class: "button", onclick: again }, "Try again") : null);
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** A place for a part that is loaded; what is wrong with it is shown there. */
export async function loaded(place: Element, what: string, load: () => Promise<Child>): Promise<void> {
  place.setAttribute("aria-busy", "true");
  replace(place, busy(what));
  try {
    const content = await load();
    replace(place, content);
  } catch (error) {
    if (isAborted(error) || needsKey(error)) throw error;
    replace(place, problemBox(error, () => void loaded(place, what, load).catch(() => undefined)));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

export const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
export const needsKey = (error: unknown): boolean => error instanceof Refusal && error.problem.status === 401;

/** How many are shown of how many, and the way to the rest. */
export function shownOf(shown: number, total: number | null, noun: string, more: (() => void) | null): HTMLElement {
  const text = total === null ? `${count(shown)} ${noun} shown` : `${count(shown)} of ${count(total)} ${noun} shown`;
  return h("div", { class: "shown" }, h("span", {}, text + (total === null && more ? ", and there are more" : "")),
    more ? h("button", { type: "button", class: "button", onclick: more }, "Show more") : null);
}

/** A list of which a part is shown at first; the button shows the next part. */
export function partly<T>(items: readonly T[], noun: string, item: (value: T) => Node, { size = 50, list = h("ul", { class: "plain" }) } = {}): HTMLElement {
  let shown = 0;
  const foot = h("div");
  const grow = (): void => {
    const first = shown;
    for (const value of items.slice(shown, shown + size)) list.append(item(value));
    shown = Math.min(shown + size, items.length);
    replace(foot, items.length > size ? shownOf(shown, items.length, noun, shown < items.length ? grow : null) : null);
    if (first) (list.children[first] as HTMLElement | undefined)?.querySelector<HTMLElement>("a, button")?.focus();
  };
  grow();
  return h("div", {}, list, foot);
}

/** The offset in a string of JavaScript of an offset in characters, which hlgraph counts. */
export function offset(text: string, characters: number): number {
  let at = 0;
  for (let left = characters; left > 0 && at < text.length; left -= 1) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return at;
}

export const titleOf = (source: Source): string => source.title || source.uri;

export function shortUri(uri: string): string {
  const parts = uri.replace(/^file:\/\//, "").split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : parts.join("/");
}

export function metadataList(metadata: Metadata): HTMLElement | null {
  const rows = Object.entries(metadata);
  if (!rows.length) return null;
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, plain(value))]));
}

export function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
