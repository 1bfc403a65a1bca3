#!/usr/bin/env bash
# scipy 1.17.1 with numpy 2.4.6, from PyPI.
# Guess: `import scipy.sparse` loads sparse matrices. numpy.f2py, the generator of wrappers for Fortran, is loaded by numpy only when
# somebody names it: numpy's __getattr__ is lazy on purpose.
# Seen: scipy.sparse loads 17 modules of numpy.f2py, among them its parser of Fortran and its C templates. The copy of the array API
# standard that scipy has inside names every name of numpy's __all__, and each lazy name is imported on the way. That is about a
# quarter of the time that the import takes. Nothing of scipy.sparse uses them. Command lines that only read a sparse graph pay it at
# each start, and an environment that strips numpy.f2py from an image to make it smaller cannot import scipy.sparse at all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1
cat > "$folder/look.py" <<'PYTHON'
import statistics
import subprocess
import sys


def child(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


LOADED = "import sys; print(sum(name.split('.')[:2] == ['numpy', 'f2py'] for name in sys.modules))"
TIMED = "import time, numpy; a = time.perf_counter(); {}import scipy.sparse; print(time.perf_counter() - a)"
BEFORE = "import numpy.f2py; a = time.perf_counter(); "
alone, with_scipy = int(child("import numpy; " + LOADED)), int(child("import scipy.sparse; " + LOADED))
whole = statistics.median(float(child(TIMED.format(""))) for _ in range(9))
rest = statistics.median(float(child(TIMED.format(BEFORE))) for _ in range(9))
print(f"modules of numpy.f2py after import numpy: {alone}; after import scipy.sparse: {with_scipy}")
print(f"share of the import of scipy.sparse, numpy there already: {1 - rest / whole:.0%}")

stripped = "import sys, importlib.abc\n" \
    "class Stripped(importlib.abc.MetaPathFinder):\n" \
    "    def find_spec(self, name, path, target=None):\n" \
    "        if name.startswith('numpy.f2py'): raise ModuleNotFoundError(name, name=name)\n" \
    "sys.meta_path.insert(0, Stripped())\n" \
    "try:\n    import scipy.sparse\n    print('imported')\n" \
    "except ModuleNotFoundError as error:\n    print('fails without', error.name)\n"
said = child(stripped)
print(f"scipy.sparse without numpy.f2py on the disk: {said}")
sys.exit(0 if alone == 0 and with_scipy >= 10 and said.startswith("fails") else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
