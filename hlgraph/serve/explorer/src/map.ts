// The map: entities, coloured by community, and the communities as a list for those who do not see it.
import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import Sigma from "sigma";
import { EdgeLineProgram, NodePointProgram } from "sigma/rendering";
import { get, route, withQuery, type CommunitiesFound, type Community, type MapFound } from "./api";
import { count, counted, h, isAborted, loaded, partly, replace, say, shownOf, type Child } from "./dom";
import { pages } from "./entity";
import { go, link, type View } from "./view";

const LIGHT = ["#17707a", "#c2571a", "#5a5fb8", "#4c8a2b", "#b03a68", "#8f6a00", "#2f73c4", "#8a4fa8", "#a3402f", "#3c7f68", "#6c6f1c", "#7a5646"];
const DARK = ["#6fd0d6", "#ff9d5c", "#a9aef5", "#95d46f", "#f58ab5", "#e3be4a", "#7fb8ff", "#cf9cf0", "#ff8f7d", "#7fd4b4", "#cfd25f", "#d4a893"];
const MOST = 2_000; // nodes at once; the rest is in the maps of the communities
const MOST_EDGES = 10_000;
const BEGINNING = 500;
const SLICE_MS = 14; // of layout between two frames
const CLICK_MOVES = 3; // that sigma allows in a click

export async function mapView(view: View): Promise<void> {
  const community = view.query.get("community") ?? "";
  const limit = Math.min(Number(view.query.get("limit")) || BEGINNING, MOST);
  const edges = Math.min(Number(view.query.get("edges")) || Math.ceil(limit * 2.5), MOST_EDGES);
  const place = h("div");
  view.main.append(h("h1", {}, "Map"), place);
  await loaded(place, "Loading the map…", async () => {
    const map = await get<MapFound>(withQuery(route(view.corpus, "map"), { limit, community, edges }), view.signal);
    if (!map.nodes.length) return h("div", { class: "card" }, h("p", {}, "There are no communities to draw yet."), h("p", { class: "mend" }, h("b", {}, "What to do: "), "run ", h("code", {}, "hlgraph communities build"), " beside the server, then load this page again."));
    return drawn(view, map, { community, limit, edges });
  });
  const canvas = place.querySelector<HTMLElement>(".canvas");
  if (canvas) begin(view, canvas);
}

const maps = new WeakMap<HTMLElement, MapFound>();

function drawn(view: View, map: MapFound, { community, limit, edges }: { community: string; limit: number; edges: number }): Child {
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": `Map of ${counted(map.nodes.length, "entity", "entities")}; the lists beside it name the same` });
  maps.set(canvas, map);
  const more = map.nodes.length < map.node_total && limit < MOST ? () => go("map", "", { community, limit: Math.min(limit * 2, MOST) }) : null;
  const moreEdges = map.edges.length < map.edge_total && edges < MOST_EDGES ? () => go("map", "", { community, limit, edges: Math.min(edges * 2, MOST_EDGES) }) : null;
  const rest = map.nodes.length < map.node_total && limit >= MOST ? " The rest is in the maps of the single communities." : "";
  return [
    map.is_stale ? h("p", { class: "tag warn" }, "The corpus has changed since the communities were built") : null,
    h("div", { class: "columns map-columns" },
      h("section", { "aria-label": "Map" },
        h("div", { class: "frame" }, canvas, h("div", { class: "zoom" }, ["Zoom in", "Zoom out", "Whole map"].map((name) => h("button", { type: "button", class: "button", "data-zoom": name, "aria-label": name }, { "Zoom in": "+", "Zoom out": "−" }[name] ?? "⤢"))),
          h("p", { class: "map-state", role: "status" })),
        shownOf(map.nodes.length, map.node_total, "entities", more), shownOf(map.edges.length, map.edge_total, "links between them", moreEdges),
        h("p", { class: "quiet small" }, "The most linked entities and the strongest links come first.", rest)),
      h("aside", { "aria-label": "About the map" },
        community ? h("p", {}, h("a", { class: "button", href: link("map") }, "← Whole map")) : null,
        h("section", { class: "card", id: "chosen", "aria-live": "polite" }, h("h2", {}, "Find on the map"), finder(map), h("div", { class: "picked" }, h("p", { class: "quiet small" }, "Choose a point, or find it by name."))),
        h("section", { class: "card", "aria-label": "Communities" }, h("h2", {}, "Communities"), communities(view, community, map)),
        h("section", { class: "card", "aria-label": "Entities of the map" }, h("h2", {}, "Entities"), partly(map.nodes, "entities", (node) => h("li", { class: "near" }, h("a", { href: link("entity", node.id) }, node.name), h("span", { class: "quiet small" }, counted(node.degree, "link"))), { size: 15 })))),
  ];
}

function finder(map: MapFound): HTMLElement {
  return h("form", { class: "row spaced", id: "finder" }, h("label", { class: "grow" }, h("span", {}, "Name"), h("input", { name: "name", list: "names", autocomplete: "off" })),
    h("datalist", { id: "names" }, map.nodes.slice(0, 300).map((node) => h("option", { value: node.name }))), h("button", { class: "button" }, "Find"));
}

function communities(view: View, chosen: string, map: MapFound): HTMLElement {
  const best = Map.groupBy(map.nodes, (node) => node.community_id);
  const named = (each: Community): string => (best.get(each.id)?.map((node) => node.name) ?? each.names).slice(0, 4).join(", ") || each.id;
  const place = h("div");
  void pages<Community>(place, "communities", (each) => h("li", { class: each.id === chosen ? "chosen" : null },
    h("span", { class: "dot", "data-community": each.id, "aria-hidden": "true" }), h("a", { href: link("map", "", { community: each.id }), "aria-current": each.id === chosen ? "true" : null }, named(each)),
    h("span", { class: "quiet small" }, ` ${counted(each.size, "entity", "entities")}`)),
  async (after) => {
    const skip = Number(after ?? 0);
    const found = await get<CommunitiesFound>(withQuery(route(view.corpus, "communities"), { level: 0, limit: 12, names: 4, skip }), view.signal);
    paint(found.communities, skip);
    return { items: found.communities, total: found.total, after: skip + found.communities.length < found.total ? String(skip + found.communities.length) : null };
  }, h("p", { class: "empty" }, "No communities.")).then(() => colourDots(place), (error: unknown) => {
    if (!isAborted(error)) throw error;
  });
  new MutationObserver(() => colourDots(place)).observe(place, { childList: true, subtree: true });
  return place;
}

// Colours: the largest communities have one each.

const ranks = new Map<string, number>();

function paint(found: readonly Community[], skip: number): void {
  found.forEach((each, at) => ranks.set(each.id, skip + at));
}

function colourDots(place: Element): void {
  for (const dot of place.querySelectorAll<HTMLElement>(".dot")) dot.style.background = colour(dot.dataset["community"] ?? "");
}

const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;

function colour(community: string): string {
  const rank = ranks.get(community);
  return rank === undefined || rank >= LIGHT.length ? (isDark() ? "#8b979b" : "#8a9397") : (isDark() ? DARK : LIGHT)[rank]!;
}

// Drawing

function graphOf(map: MapFound): Graph {
  const graph = new Graph({ type: "undirected", multi: false });
  const sizes = new Map<string, number>();
  for (const node of map.nodes) sizes.set(node.community_id, (sizes.get(node.community_id) ?? 0) + 1);
  const order = [...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)! || (a < b ? -1 : 1));
  order.forEach((id, at) => {
    if (!ranks.has(id)) ranks.set(id, at);
  });
  const centres = new Map(order.map((id, at) => [id, spiral(at, 40)]));
  const inside = new Map<string, number>();
  for (const node of map.nodes) {
    const number = inside.get(node.community_id) ?? 0;
    inside.set(node.community_id, number + 1);
    const [cx, cy] = centres.get(node.community_id)!;
    const [x, y] = spiral(number, 2);
    graph.addNode(node.id, { x: cx + x, y: cy + y, label: node.name, size: 2 + 0.85 * Math.sqrt(node.degree), color: colour(node.community_id), community: node.community_id });
  }
  const line = isDark() ? "#343d40" : "#e2e1dc";
  for (const edge of map.edges) if (!graph.hasEdge(edge.start, edge.end)) graph.addEdge(edge.start, edge.end, { weight: edge.weight, size: 0.6, color: line });
  return graph;
}

function spiral(number: number, step: number): [number, number] {
  const angle = number * 2.399963;
  const radius = step * Math.sqrt(number);
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}

function begin(view: View, canvas: HTMLElement): void {
  const map = maps.get(canvas)!;
  const graph = graphOf(map);
  const ink = getComputedStyle(document.body).color;
  const state = canvas.parentElement!.querySelector(".map-state")!;
  const isLarge = graph.order > 800 || graph.size > 3_000;
  let renderer: Sigma;
  try {
    renderer = new Sigma(graph, canvas, {
      labelFont: getComputedStyle(document.body).fontFamily, labelColor: { color: ink }, labelSize: 13, labelWeight: "500", labelDensity: 0.6, labelGridCellSize: 110,
      labelRenderedSizeThreshold: 7, hideLabelsOnMove: isLarge, hideEdgesOnMove: isLarge, minCameraRatio: 0.03, maxCameraRatio: 4, defaultDrawNodeHover: drawHover, zIndex: true,
      edgeProgramClasses: { line: EdgeLineProgram }, defaultEdgeType: "line", nodeProgramClasses: { circle: NodePointProgram },
    });
  } catch {
    replace(state, "This browser draws no WebGL; the lists name the same entities.");
    return;
  }
  view.signal.addEventListener("abort", () => renderer.kill());
  if (isLarge) dragLightly(canvas, renderer);
  interact(canvas, map, graph, renderer);
  layOut(view, graph, state);
}

/** Draw the nodes alone while a large map is dragged: each other layer would be composed anew in every picture. */
function dragLightly(canvas: HTMLElement, renderer: Sigma): void {
  const captor = renderer.getMouseCaptor();
  captor.on("mousemovebody", () => canvas.classList.toggle("dragged", captor.isMouseDown && captor.draggedEvents > CLICK_MOVES));
  captor.on("mouseup", () => canvas.classList.remove("dragged"));
}

/** Lay the graph out between frames, so that the page answers meanwhile. */
function layOut(view: View, graph: Graph, state: Element): void {
  const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: graph.order > 400, linLogMode: true, outboundAttractionDistribution: true, scalingRatio: 2, gravity: 0.05, slowDown: 2, edgeWeightInfluence: 0.6 };
  let left = graph.order > 1_000 ? 80 : 260;
  state.textContent = "Laying out…";
  const step = (): void => {
    if (view.signal.aborted) return;
    const before = performance.now();
    while (left > 0 && performance.now() - before < SLICE_MS) {
      const iterations = Math.min(left, 2);
      forceAtlas2.assign(graph, { iterations, settings, getEdgeWeight: "weight" });
      left -= iterations;
    }
    if (left > 0) requestAnimationFrame(step);
    else state.textContent = "";
  };
  requestAnimationFrame(step);
}

function drawHover(context: CanvasRenderingContext2D, data: { x: number; y: number; size: number; label: string | null; color: string }): void {
  const style = getComputedStyle(document.documentElement);
  context.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
  const label = data.label ?? "";
  const width = context.measureText(label).width + 14;
  context.fillStyle = style.getPropertyValue("--card");
  context.strokeStyle = style.getPropertyValue("--accent");
  context.beginPath();
  context.roundRect(data.x + data.size + 3, data.y - 12, width, 24, 6);
  context.fill();
  context.stroke();
  context.fillStyle = style.getPropertyValue("--ink");
  context.fillText(label, data.x + data.size + 10, data.y + 4.5);
}

function interact(canvas: HTMLElement, map: MapFound, graph: Graph, renderer: Sigma): void {
  let picked = "";
  let near = new Set<string>();
  const faded = isDark() ? "#2b3335" : "#e4e3de";
  const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  renderer.setSetting("nodeReducer", (node, data) => !picked ? data : node === picked ? { ...data, highlighted: true, zIndex: 2 } : near.has(node) ? { ...data, forceLabel: near.size < 25, zIndex: 1 } : { ...data, color: faded, label: "" });
  renderer.setSetting("edgeReducer", (edge, data) => !picked ? data : graph.hasExtremity(edge, picked) ? { ...data, color: accent, size: 1.2, zIndex: 1 } : { ...data, hidden: true });
  const pick = (node: string): void => {
    picked = node;
    near = new Set(node ? graph.neighbors(node) : []);
    renderer.refresh({ skipIndexation: true });
    const place = document.querySelector("#chosen .picked");
    const about = map.nodes.find((each) => each.id === node);
    if (place && about) replace(place, h("p", {}, h("b", {}, about.name), about.kind ? h("span", { class: "tag" }, about.kind) : null), h("p", { class: "quiet small" }, `${counted(near.size, "link")} on this map, ${count(about.degree)} in all`),
      h("p", {}, h("a", { class: "button", href: link("entity", about.id) }, "Open the entity")));
  };
  renderer.on("clickNode", ({ node }) => pick(node));
  renderer.on("clickStage", () => pick(""));
  const camera = renderer.getCamera();
  const duration = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 300;
  canvas.parentElement!.querySelectorAll<HTMLElement>("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    const name = button.dataset["zoom"];
    void (name === "Zoom in" ? camera.animatedZoom({ duration }) : name === "Zoom out" ? camera.animatedUnzoom({ duration }) : camera.animatedReset({ duration }));
  }));
  document.getElementById("finder")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim().toLowerCase();
    const node = map.nodes.find((each) => each.name.toLowerCase() === name) ?? map.nodes.find((each) => name && each.name.toLowerCase().includes(name));
    const place = document.querySelector("#chosen .picked");
    if (!node) {
      if (place) replace(place, h("p", {}, "No entity of this map has this name."));
      return;
    }
    pick(node.id);
    say(`${node.name} is chosen`);
    const at = renderer.getNodeDisplayData(node.id);
    if (at) void camera.animate({ x: at.x, y: at.y, ratio: 0.35 }, { duration });
  });
}
