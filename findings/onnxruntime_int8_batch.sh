#!/usr/bin/env bash
# onnxruntime 1.32.0 (quantize_dynamic), onnx 1.23.2, on the CPU.
# Guess: in a model of a linear layer without state, the row of a text is the same whatever else is in its batch, in 8-bit integers as
# in floats; and a text that was embedded in another batch is found again with a cosine of 1.
# Seen: the scale of the activations of a dynamically quantized product is one number for the whole batch, its largest value. One
# outlier among the other rows moves every row: here the cosine of a row to itself falls from 1 to below .95. A real sentence encoder
# (six layers) gives .993 in the mean and .987 at least between two batches of ordinary sentences, as much as quantization itself
# costs. An index that is built in other batches than it is asked, or built again in another order, holds other vectors. Only batches
# of one row are repeatable.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
cat > "$folder/batch.py" <<'PYTHON'
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import quantize_dynamic

folder = Path(sys.argv[1])
pick = np.random.default_rng(7)
weights = pick.normal(size=(64, 64)).astype(np.float32)
node = onnx.helper.make_node("MatMul", ["rows", "weights"], ["out"])
rows = onnx.helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, ["n", 64])
out = onnx.helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, ["n", 64])
graph = onnx.helper.make_graph([node], "linear", [rows], [out], [onnx.numpy_helper.from_array(weights, "weights")])
opset = [onnx.helper.make_opsetid("", 20)]
onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "float.onnx")
quantize_dynamic(folder / "float.onnx", folder / "int8.onnx", per_channel=True)


def run(name, batch):
    session = onnxruntime.InferenceSession(folder / name, providers=["CPUExecutionProvider"])
    return session.run(None, {"rows": batch})[0]


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


row = pick.normal(size=(1, 64)).astype(np.float32)
other = pick.normal(size=(1, 64)).astype(np.float32)
other[0, 0] = 400  # one large activation, as some layers of transformers have
for name in ("float.onnx", "int8.onnx"):
    alone, beside = run(name, row)[0], run(name, np.vstack([row, other]))[0]
    print(f"{name}: cosine of a row alone and in a batch of two: {cosine(alone, beside):.4f}")
    if name == "float.onnx":
        assert cosine(alone, beside) > 0.99999
    else:
        assert cosine(alone, beside) < 0.95, "changed: rows no longer share a scale"
        assert cosine(alone, run("float.onnx", row)[0]) > 0.999  # alone, 8 bits are enough
PYTHON
"$folder/venv/bin/python" "$folder/batch.py" "$folder" 2> /dev/null
