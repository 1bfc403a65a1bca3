// Sources: their list with a filter, and the ingest of files with its progress.
import { ask, events, get, headers, problemOf, Refusal, route, unreachable, withQuery, type Job, type Progress, type SourcesListed, type Source, type Stats } from "./api";
import { count, counted, h, isAborted, plain, problemBox, replace, say, shortUri, titleOf, type Child } from "./dom";
import { pages } from "./entity";
import { go, link, type View } from "./view";

const quietly = (error: unknown): void => {
  if (!isAborted(error)) throw error;
};

export async function sourcesView(view: View): Promise<void> {
  const where = view.query.get("where") ?? "";
  const list = h("div");
  const field = h("input", { name: "where", value: where, autocomplete: "off", spellcheck: "false", placeholder: "category = 'place' and year >= 1890" });
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    go("sources", "", { where: field.value.trim() });
  };
  const jobs = h("section", { "aria-label": "Ingests" });
  const builder = h("div");
  view.main.append(h("h1", {}, "Sources"),
    h("div", { class: "columns" },
      h("section", { class: "card", "aria-label": "Stored sources" },
        h("form", { role: "search", class: "row spaced", onsubmit: send }, h("label", { class: "grow" }, h("span", {}, "Only sources where"), field),
          h("button", { class: "button primary" }, "Filter"), where ? h("a", { class: "button", href: link("sources") }, "All sources") : null),
        builder, list),
      h("div", {}, dropZone(view, jobs), jobs)));
  void fieldsOf(view, builder, field).catch(quietly);
  void recent(view, jobs).catch(quietly);
  await pages<Source>(list, "sources", item, async (after) => {
    const page = await get<SourcesListed>(withQuery(route(view.corpus, "sources"), { limit: 50, where, after }), view.signal);
    return { items: page.sources, total: page.total, after: page.after };
  }, h("p", { class: "empty" }, where ? "No source is within this filter." : "No sources yet. Drop the first files here."));
}

function item(source: Source): HTMLElement {
  const shown = Object.entries(source.metadata).filter(([name]) => name !== "filename").slice(0, 4);
  return h("li", {}, h("a", { href: link("source", source.id) }, h("b", {}, titleOf(source))),
    h("div", { class: "quiet small cut" }, shortUri(source.uri)),
    shown.length ? h("div", { class: "small chips" }, shown.map(([name, value]) => h("span", {}, `${name}: ${plain(value)}`))) : null);
}

/** Choices that write a condition into the filter. A caller who may not see every source writes it by hand. */
async function fieldsOf(view: View, place: HTMLElement, filter: HTMLInputElement): Promise<void> {
  let fields: Record<string, string[]>;
  try {
    ({ fields } = await get<Stats>(route(view.corpus, "stats"), view.signal));
  } catch (error) {
    if (error instanceof Refusal && error.problem.status !== 401) return;
    throw error;
  }
  const names = Object.keys(fields);
  if (!names.length) return;
  const add = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const [name, operator, value] = ["field", "operator", "value"].map((part) => String(form.get(part) ?? ""));
    const isPlain = /^(-?\d+(\.\d+)?|true|false)$/.test(value!) && !fields[name!]?.includes("text");
    const quoted = `'${value!.replace(/[\\']/g, "\\$&")}'`;
    const field = /^[a-z][\w.:-]*$/i.test(name!) ? name : `\`${name!.replaceAll("`", "``")}\``;
    const condition = `${field} ${operator} ${isPlain ? value : quoted}`;
    filter.value = filter.value.trim() ? `${filter.value.trim()} and ${condition}` : condition;
    filter.focus();
  };
  place.append(h("details", { class: "builder" }, h("summary", {}, "Add a condition"), h("form", { class: "row", onsubmit: add },
    h("label", {}, h("span", {}, "Field"), h("select", { name: "field" }, names.map((name) => h("option", { value: name }, name)))),
    h("label", {}, h("span", {}, "Is"), h("select", { name: "operator" }, ["=", "!=", ">=", "<=", ">", "<"].map((each) => h("option", { value: each }, each)))),
    h("label", { class: "grow" }, h("span", {}, "Value"), h("input", { name: "value", required: true, autocomplete: "off" })),
    h("button", { class: "button" }, "Add"))));
}

// Ingest

function dropZone(view: View, jobs: HTMLElement): HTMLElement {
  const picker = h("input", { id: "files", type: "file", multiple: true, class: "unseen" });
  const groups = h("input", { name: "groups", autocomplete: "off", placeholder: "public, staff" });
  const begin = (files: readonly File[]): void => {
    if (files.length) void ingest(view, jobs, files, groups.value.split(",").map((name) => name.trim()).filter(Boolean)).catch(quietly);
  };
  picker.addEventListener("change", () => {
    begin([...(picker.files ?? [])]);
    picker.value = "";
  });
  const zone = h("section", { class: "card drop", "aria-label": "Ingest" }, h("h2", {}, "Add sources"),
    picker, h("label", { for: "files", class: "target" }, h("b", {}, "Drop files here"), h("span", { class: "quiet" }, "or choose them: text, Markdown, HTML, PDF, office files, tables and more")),
    h("details", {}, h("summary", {}, "Who may see them"), h("label", {}, h("span", {}, "Groups, with commas between; none: everyone who may read"), groups)));
  for (const name of ["dragenter", "dragover"]) zone.addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    begin([...(event.dataTransfer?.files ?? [])]);
  });
  return zone;
}

async function ingest(view: View, jobs: HTMLElement, files: readonly File[], groups: string[]): Promise<void> {
  const card = new JobCard(view, files.length === 1 ? files[0]!.name : counted(files.length, "file"));
  jobs.prepend(card.element);
  try {
    const job = await upload(view, files, groups, (sent, total) => card.sent(sent, total));
    await card.follow(job);
  } catch (error) {
    if (isAborted(error)) throw error;
    card.failed(error);
  }
}

/** Send files; XMLHttpRequest alone tells how much of them is sent. */
function upload(view: View, files: readonly File[], groups: string[], onSent: (sent: number, total: number) => void): Promise<Job> {
  const form = new FormData();
  if (groups.length) form.append("options", JSON.stringify({ acl: groups }));
  for (const file of files) form.append("files", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", route(view.corpus, "ingest"));
    for (const [name, value] of Object.entries(headers({ "idempotency-key": crypto.randomUUID() }))) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onSent(event.loaded, event.total);
    request.onerror = () => reject(new Refusal(unreachable()));
    request.onload = () => request.status === 202 ? resolve(JSON.parse(request.responseText) as Job) : reject(new Refusal(problemOf(request.status, request.responseText)));
    request.send(form);
  });
}

const STEPS: Record<string, string> = {
  look: "Looking for files", read: "Reading", compare: "Comparing with what is stored", extract: "Extracting statements", embed: "Embedding", pair: "Pairing names", persist: "Storing", wait: "Waiting for another writer",
};
const OVER = new Set(["done", "failed", "cancelled", "interrupted"]);

class JobCard {
  readonly element: HTMLElement;
  private readonly bar = h("progress", { "aria-label": "Progress" });
  private readonly words = h("p", { class: "job-words", role: "status" }, "Sending…");
  private readonly end = h("div");
  private readonly stop = h("button", { type: "button", class: "button small-button", hidden: true }, "Cancel");

  constructor(private readonly view: View, name: string) {
    this.element = h("article", { class: "card job" }, h("div", { class: "found-head" }, h("b", {}, name), this.stop), this.bar, this.words, this.end);
  }

  sent(sent: number, total: number): void {
    this.bar.max = total;
    this.bar.value = sent;
    this.words.textContent = sent < total ? `Sending: ${count(Math.round(sent / 1024))} of ${count(Math.round(total / 1024))} KB` : "Sent; waiting for the server…";
  }

  /** Show a job until it is over. */
  async follow(job: Job): Promise<void> {
    this.stop.hidden = false;
    this.stop.onclick = () => void ask<Job>("POST", `v1/jobs/${job.id}/cancel`).catch((error: unknown) => replace(this.end, problemBox(error)));
    for await (const event of events("GET", `v1/jobs/${job.id}/events`, { signal: this.view.signal })) this.show(event.data as Job);
  }

  show(job: Job): void {
    this.element.dataset["state"] = job.state;
    if (!OVER.has(job.state)) {
      this.words.textContent = job.progress ? progressOf(job.progress) : "Queued";
      const { done, total } = job.progress ?? { done: 0, total: null };
      if (total) {
        this.bar.max = total;
        this.bar.value = done;
      } else this.bar.removeAttribute("value");
      return;
    }
    this.bar.remove();
    this.stop.remove();
    const counts = job.report?.sources ?? {};
    this.words.textContent = job.state === "done" ? `Done: ${summary(counts)}` : job.state === "cancelled" ? "Cancelled; what was stored stays." : `The job ${job.state === "failed" ? "failed" : "was interrupted"}.`;
    const failures = job.report?.failed ?? [];
    replace(this.end, job.problem ? problemBox(new Refusal({ ...job.problem, retryable: false })) : null,
      failures.length ? h("details", { open: true }, h("summary", {}, counted(failures.length, "file could not be read", "files could not be read")), h("ul", {}, failures.map((each) => h("li", {}, h("b", {}, each.uri), " ", each.error)))) : null,
      job.state === "done" ? h("button", { type: "button", class: "button small-button", onclick: () => dispatchEvent(new HashChangeEvent("hashchange")) }, "Show the list again") : null);
    say(this.words.textContent);
  }

  failed(error: unknown): void {
    this.bar.remove();
    this.stop.remove();
    this.words.textContent = "";
    replace(this.end, problemBox(error));
  }
}

const summary = (counts: Record<string, number>): string =>
  ["added", "changed", "unchanged", "removed"].filter((name) => counts[name]).map((name) => `${count(counts[name]!)} ${name}`).join(", ") || "nothing was stored";

function progressOf(progress: Progress): string {
  const step = STEPS[progress.step] ?? progress.step;
  const part = progress.total ? `${count(progress.done)} of ${count(progress.total)} ${progress.unit}` : "";
  const left = progress.seconds_left ? `about ${counted(Math.ceil(progress.seconds_left), "second")} left` : "";
  return [part ? `${step}: ${part}` : step, progress.statements ? counted(progress.statements, "statement") : "", left].filter(Boolean).join(" · ");
}

/** Jobs that are not over go on here; the others are named. A caller who may not write has none. */
async function recent(view: View, place: HTMLElement): Promise<void> {
  let jobs: Job[];
  try {
    ({ jobs } = await get<{ jobs: Job[] }>(withQuery(route(view.corpus, "jobs"), { limit: 5 }), view.signal));
  } catch (error) {
    if (error instanceof Refusal && error.problem.status !== 401) return;
    throw error;
  }
  const over = jobs.filter((job) => OVER.has(job.state));
  for (const job of jobs.filter((each) => !OVER.has(each.state))) {
    const card = new JobCard(view, `Ingest of ${new Date(job.created).toLocaleTimeString()}`);
    place.append(card.element);
    card.follow(job).catch((error: unknown) => isAborted(error) ? undefined : card.failed(error));
  }
  if (over.length) place.append(h("section", { class: "card" }, h("h2", {}, "Last ingests"), h("ul", { class: "plain lines small" }, over.map((job): Child =>
    h("li", {}, h("span", { class: job.state === "done" ? "tag" : "tag warn" }, job.state), " ", new Date(job.created).toLocaleString(), job.report ? ` · ${summary(job.report.sources)}` : "", job.problem ? ` · ${job.problem.detail}` : "")))));
}

