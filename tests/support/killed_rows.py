"""Documents for the tests that kill processes: a first state and an edited one."""

from __future__ import annotations

import random

_PEOPLE = ("Mara Quill", "Ivo Brandt", "Sela Orne", "Tobin Arkwright", "Una Vessel", "Karel Moss")
_PLACES = ("Tessing", "Aldane", "Port Verrin", "Hallow Mere", "Quarrick", "Low Fenton")
_DEEDS = ("was born in", "designed the bridge of", "wrote about", "left", "returned to", "measured the river at")


def rows(seed: int, count: int) -> list[dict[str, object]]:
    """Documents made of sentences about some people, always the same for a seed."""
    rng = random.Random(seed)

    def sentence() -> str:
        return f"{rng.choice(_PEOPLE)} {rng.choice(_DEEDS)} {rng.choice(_PLACES)} in {rng.randint(1850, 1950)}."

    texts = [" ".join(sentence() for _ in range(rng.randint(3, 14))) for _ in range(count)]
    return [{"id": f"r{at}", "title": rng.choice(_PLACES), "text": text, "year": at} for at, text in enumerate(texts)]


def edited(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Every third row edited, every seventh gone, two new ones."""
    kept = [dict(row) for number, row in enumerate(rows) if number % 7]
    for row in kept[::3]:
        row["text"] = f"{row['text']} {_PEOPLE[0]} saw it."
    return [*kept, {"id": "n1", "title": "New", "text": "Una Vessel opened the Orne Hall in 1951."}]
