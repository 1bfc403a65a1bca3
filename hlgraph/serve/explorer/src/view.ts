// What a view is given: where it draws, what its address says, and how it links to others.

export interface View {
  main: HTMLElement;
  corpus: string;
  id: string;
  query: URLSearchParams;
  signal: AbortSignal;
  strategies: string[];
}

let corpusOfLinks = "";

export function linkWithin(corpus: string): void {
  corpusOfLinks = corpus;
}

/** The address of a view, as a part of the page's own address. */
export function link(view: string, id = "", query: Record<string, string | number | null | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, corpus: query["corpus"] ?? corpusOfLinks })) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const path = id ? `${view}/${encodeURIComponent(id)}` : view;
  return search.size ? `#/${path}?${search}` : `#/${path}`;
}

export function go(view: string, id = "", query: Record<string, string | number | null | undefined> = {}): void {
  location.hash = link(view, id, query);
}
