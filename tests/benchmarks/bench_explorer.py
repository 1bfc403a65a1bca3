"""The page of the server in headless Chromium: first paint, size of its files, and pictures a second while a large map is dragged.

The server runs in a process of its own, without documents. The map is made here: entities in communities, random links; WebGL is
drawn by the processor.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Route, expect
from readme_picture import chromium
from server_process import running

import hlgraph

DIST = Path(hlgraph.__file__).parent / "serve" / "explorer" / "dist"
ROUNDS = 7
NODES, EDGES, COMMUNITIES = 2_000, 5_000, 40
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
# Milliseconds between the pictures of a drag, which the page itself counts.
COUNT = "window.times = []; (function count(now) { window.times.push(now); requestAnimationFrame(count); })(performance.now())"


def first_paint(browser: Browser, url: str) -> float:
    """Median milliseconds until something is drawn, with an empty cache."""
    times = []
    for _ in range(ROUNDS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(url, wait_until="networkidle")
        times.append(float(page.wait_for_function(PAINT).json_value()))
        context.close()
    return statistics.median(times)


def large_map() -> str:
    """The answer of the route of the map, for entities of some communities whose links mostly stay inside."""
    rng = random.Random(7)
    ends = set[tuple[int, int]]()
    while len(ends) < EDGES:
        start = rng.randrange(NODES)
        near = start % COMMUNITIES + COMMUNITIES * rng.randrange(NODES // COMMUNITIES)
        end = near if rng.random() < 0.8 else rng.randrange(NODES)
        if start != end:
            ends.add((min(start, end), max(start, end)))
    degrees = [0] * NODES
    for pair in ends:
        for end in pair:
            degrees[end] += 1
    nodes = [
        {
            "id": str(at),
            "name": f"Entity {at}",
            "kind": "",
            "community_id": str(at % COMMUNITIES),
            "degree": degrees[at],
        }
        for at in range(NODES)
    ]
    edges = [{"start": str(start), "end": str(end), "weight": 1.0} for start, end in sorted(ends)]
    return json.dumps({"nodes": nodes, "edges": edges, "node_total": NODES, "edge_total": EDGES, "is_stale": False})


def dragged(browser: Browser, url: str) -> list[float]:
    """Milliseconds between two pictures while the map is dragged for some seconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    page = context.new_page()
    body = large_map()

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/json", body=body)

    page.route("**/map?*", answer)
    page.goto(f"{url}/#/map?limit={NODES}")
    expect(page.locator(".map-state")).to_have_text("", timeout=120_000)
    box = page.locator(".canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(COUNT)
    for step in range(240):
        page.mouse.move(x + 120 * ((step % 60) / 30 - 1), y + 80 * ((step % 40) / 20 - 1))
    times = page.evaluate("window.times")
    page.mouse.up()
    context.close()
    return [after - before for before, after in itertools.pairwise(times)]


def main() -> None:
    """Print the measures."""
    size = sum(len(gzip.compress(path.read_bytes())) for path in DIST.iterdir())
    lines = [f"files of the page, compressed: {size / 1_000:.0f} kB"]
    options = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server, chromium(*options) as browser:
        lines.append(f"first paint, median of {ROUNDS}: {first_paint(browser, server.url):.0f} ms")
        times = sorted(dragged(browser, server.url))
    rate = 1_000 / statistics.fmean(times)
    lines += [
        f"map of {NODES:,} entities and {EDGES:,} links, dragged: {rate:.0f} pictures a second",
        f"between two pictures: median {statistics.median(times):.0f} ms, p95 {times[int(0.95 * len(times))]:.0f} ms",
        f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
