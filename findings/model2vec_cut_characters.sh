#!/usr/bin/env bash
# model2vec 0.10.0, tokenizers 0.23.3, from PyPI.
# Guess: max_length (512 if it is not given) is a number of tokens, as its documentation says: of a text with fewer tokens all are in the
# vector, and two texts with the same tokens have the same vector.
# Seen: encode() cuts the text before it is tokenized, at max_length times the median length of all tokens of the vocabulary, in characters.
# Here that is 4 * 512. A table of 120 words whose columns are filled with spaces, as tools write that keep the layout of a page, loses
# its second half, and the cosine to the same words with single spaces is .71. Of a text of 400 long words 186 are in the vector. Short
# words do fill 512 tokens. A text that begins with an empty part of a page is a zero vector. Nothing warns. A count of tokens by
# model.tokenize(), which does not cut, sees all of them. max_length=None mends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check model2vec==0.10.0 tokenizers==0.23.3 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import sys
from importlib.metadata import version

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ["[UNK]", "the", "of", "mill", "boat", "weir", "bridge", "navigation"]
tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
model = StaticModel(vectors=np.eye(len(WORDS), dtype="f4"), tokenizer=tokenizer, normalize=True)


def table(width):
    """120 words, each filled with spaces to a width."""
    return "".join(word.ljust(width) for word in ["mill"] * 60 + ["bridge"] * 60)


TEXTS = {
    "single spaces": table(7),
    "wide columns": table(40),
    "long words": " ".join(["navigation"] * 200 + ["bridge"] * 200),
    "short words": " ".join(["of"] * 500 + ["weir"] * 12),
    "empty part first": " " * 2_100 + "bridge",
}
shares = {}
print(f"model2vec {version('model2vec')}: max_length {model.max_length}, median length of a token {model.median_token_length}")
for name, text in TEXTS.items():
    cut, whole = model.encode(text), model.encode(text, max_length=None)
    tokens = len(model.tokenize([text])[0])
    shares[name] = round(float(cut @ whole), 2)
    in_vector = [word for word, weight in zip(WORDS, cut, strict=True) if weight > 0]
    print(f"{name}: {tokens} tokens, in the vector {in_vector}, cosine to the vector of all tokens {shares[name]}")
    assert tokens <= model.max_length
seen = {"single spaces": 1.0, "wide columns": 0.71, "long words": 0.71, "short words": 1.0, "empty part first": 0.0}
same = model.encode(TEXTS["single spaces"], max_length=None) @ model.encode(TEXTS["wide columns"], max_length=None)
sys.exit(0 if shares == seen and round(float(same), 2) == 1 else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
