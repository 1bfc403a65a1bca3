// The REST interface under /v1, which is all that the page uses.

export interface Problem {
  title: string;
  status: number;
  detail: string;
  mend: string;
  retryable: boolean;
  id: string;
}

export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

export type Metadata = Record<string, unknown>;
export interface Source { id: string; uri: string; title: string; metadata: Metadata }
export interface Piece {
  number: number; id: string; kind: string; text: string; score: number; chunk_id: string; start: number; end: number;
  source: Source; page: number | null; headings: string[]; why: Record<string, unknown>; is_stale: boolean; rests_on: Piece[];
}
export interface Plan { strategy: string; unit: string; milliseconds: number; round_trips: number }
export interface Sentence { text: string; citations: number[]; is_supported: boolean; reason: string }
export interface Answered {
  question: string; answer: string; is_supported: boolean; citations: Piece[]; sentences: Sentence[]; dropped: Sentence[];
  uncovered: string[]; reason: string; left_out: number; is_truncated: boolean; made_by: string;
}
export interface TraceNode { id: string; kind: string; name: string; seed_rank: number | null }
export interface TracePath { nodes: TraceNode[]; joined_by: string[][]; jumps: number[]; score: number; part: string }
export interface Explained {
  evidence: Piece[]; plan: Plan; text: string;
  explanation: { paths: TracePath[]; results: { node: TraceNode; paths: number[] }[] };
}
export interface Span { id: string; text: string; start: number; end: number; chunk_id: string; page: number | null; headings: string[] }
export interface SourceOpened { source: Source; text: string; chunks: Span[]; statements: Span[] }
export interface Stats { records: Record<string, number>; fields: Record<string, string[]> }
export interface Corpora { corpora: { name: string }[] }

let key = "";

export function useKey(text: string): void {
  key = text;
}

export function hasKey(): boolean {
  return key !== "";
}

/** The address of a route of the corpus; the page may lie below a prefix that a proxy adds. */
export function route(corpus: string, ...parts: string[]): string {
  return ["v1", "corpora", corpus, ...parts].map(encodeURIComponent).join("/");
}

export function withQuery(path: string, query: Record<string, string | number | null | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  return search.size ? `${path}?${search}` : path;
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return key ? { ...more, authorization: `Bearer ${key}` } : more;
}

interface Options { body?: unknown; signal?: AbortSignal; accept?: string; once?: string }

async function respond(method: string, path: string, { body, signal, accept, once }: Options): Promise<Response> {
  const sent = headers({ accept: accept ?? "application/json" });
  if (body !== undefined) sent["content-type"] = "application/json";
  if (once) sent["idempotency-key"] = once;
  let response: Response;
  try {
    response = await fetch(path, {
      method, headers: sent, credentials: "omit",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }), ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(unreachable());
  }
  if (!response.ok) throw new Refusal(problemOf(response.status, await response.text()));
  return response;
}

export function unreachable(): Problem {
  return {
    title: "The server does not answer", status: 0, detail: "the request did not reach the server, or its answer did not come back",
    mend: "see whether hlgraph serve still runs, then try again", retryable: true, id: "",
  };
}

export function problemOf(status: number, text: string): Problem {
  const general: Problem = {
    title: "The server refused the request", status, detail: `status ${status}`, mend: "", retryable: status >= 500, id: "",
  };
  try {
    return { ...general, ...(JSON.parse(text) as Partial<Problem>) };
  } catch {
    return general;
  }
}

export async function ask<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await respond(method, path, options);
  return (await response.json()) as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => ask<T>("GET", path, signal ? { signal } : {});

export interface Named { name: string; data: unknown }

/** Server-sent events, read with fetch: EventSource cannot send a key. */
export async function* events(method: string, path: string, options: Options = {}): AsyncGenerator<Named> {
  const response = await respond(method, path, { ...options, accept: "text/event-stream" });
  if (!response.body) return;
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parsed(block);
        if (event?.name === "problem") throw new Refusal(event.data as Problem);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (error instanceof Refusal || options.signal?.aborted) throw error;
    throw new Refusal(unreachable());
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function parsed(block: string): Named | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) as unknown } : null;
}

export interface Entity { id: string; name: string; kind: string; names: string[] }
export interface Fact { id: string; text: string; subject_id: string; subject: string; predicate: string; object: string; object_id: string | null }
export interface Said { id: string; text: string; start: number; end: number; source: Source | null }
export interface FactOpened { fact: Fact; statements: Said[]; total: number }
export interface EntityOpened {
  entity: Entity; merged: Entity[]; facts: FactOpened[]; fact_count: number;
  neighbours: { entity: Entity; statements: number }[]; neighbour_count: number; statement_count: number; is_cut: boolean;
}
export interface EntitiesListed { entities: Entity[]; total: number | null; after: string | null }
export interface SourcesListed { sources: Source[]; total: number; after: string | null }
export interface PathFound { entities: Entity[]; facts: FactOpened[]; is_complete: boolean }
export interface Decision { id: string; alias: string; canonical: string; verdict: string; made_by: string; why: string; at: string; names: Record<string, string> }
export interface Merged { decisions: Decision[]; total: number | null }
export interface Community { id: string; level: number; size: number; parent_id: string | null; names: string[] }
export interface CommunitiesFound { communities: Community[]; total: number; is_stale: boolean }
export interface MapFound {
  nodes: { id: string; name: string; kind: string; community_id: string; degree: number }[];
  edges: { start: string; end: string; weight: number }[]; node_total: number; edge_total: number; is_stale: boolean;
}
export interface Progress { step: string; done: number; total: number | null; unit: string; sources: number; found: number | null; chunks: number; statements: number; seconds_left: number | null }
export interface Job {
  id: string; state: string; created: string; progress: Progress | null; problem: Problem | null;
  report: { sources: Record<string, number>; failed: { uri: string; error: string }[] } | null;
}
