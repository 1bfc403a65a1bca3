#!/usr/bin/env bash
# fastapi 0.165.0 beside 0.115.0, from PyPI.
# Guess: a library that has optional tracing asks `"opentelemetry.trace" in sys.modules`: only an application that wants traces
# imports the API of OpenTelemetry, so without it a span costs one lookup.
# Seen: `import fastapi` imports the API for traces, metrics and logs (it requires opentelemetry-api), also where no provider is set.
# Every such library then opens spans that nobody records: nothing is exported, nothing warns, and a block costs more than twice as
# much. What tells is the provider: until one is set it is a class of the API itself. The older fastapi imports nothing of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/look.py" <<'PYTHON'
import contextlib
import sys
import timeit

import fastapi

apis = [name for name in ("trace", "metrics", "_logs") if f"opentelemetry.{name}" in sys.modules]
print(f"fastapi {fastapi.__version__}: imported {apis}")
if apis:
    from opentelemetry import trace

    @contextlib.contextmanager
    def block():
        yield

    tracer = trace.get_tracer("library")
    times = []
    for start in (block, lambda: tracer.start_as_current_span("step")):
        def work() -> None:
            with start():
                pass
        times.append(min(timeit.repeat(work, number=20_000, repeat=5)) / 20_000 * 1e6)
    span = tracer.start_span("step")
    print(f"provider {type(trace.get_tracer_provider()).__name__}, a span is recorded: {span.is_recording()}")
    print(f"an empty block {times[0]:.2f} us, the same as a span {times[1]:.2f} us")
    sys.exit(0 if len(apis) == 3 and not span.is_recording() and times[1] > 1.5 * times[0] else 1)
PYTHON
for version in 0.115.0 0.165.0; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "fastapi==$version"
    "$folder/$version/bin/python" "$folder/look.py" | tee "$folder/$version.txt"
done
grep -q "imported \[\]" "$folder/0.115.0.txt"
