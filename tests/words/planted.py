"""A made-up language whose analogies are known.

Every item (a country, a trade, a thing) has words of its own that stand near it in
both of its forms, and every form (capital, woman, plural) has words that stand near
it whatever the item. So form and item are directions, and

    capital of A - country A + country B = capital of B
"""

from __future__ import annotations

import itertools

import numpy as np

RELATIONS = {
    "capital": ("country", "capital"),
    "gender": ("man", "woman"),
    "plural": ("one", "many"),
}
ITEMS = 8


def sentences(seed: int = 0, count: int = 6000, noise: float = 0.2) -> list[list[str]]:
    """Sentences of the language; some of the words near are any words."""
    everything = [f"{relation}{i}near{k}" for relation, i, k in _all(RELATIONS, ITEMS)]
    forms = [form for pair in RELATIONS.values() for form in pair]
    everything += [f"{form}mark{k}" for form, _, k in _all(forms, 1)]
    draw = np.random.default_rng(seed)
    made = []
    names = list(RELATIONS)
    for _ in range(count):
        relation = names[draw.integers(len(names))]
        item, side = draw.integers(ITEMS), draw.integers(2)
        form = RELATIONS[relation][side]
        own = [f"{relation}{item}near{k}" for k in draw.integers(0, 5, 4)]
        marks = [f"{form}mark{k}" for k in draw.integers(0, 5, 4)]
        around = [
            near
            if draw.random() >= noise
            else everything[draw.integers(len(everything))]
            for near in own + marks
        ]
        draw.shuffle(around)
        made.append([*around[:4], word(relation, item, side), *around[4:]])
    return made


def _all(names, items):
    return itertools.product(names, range(items), range(5))


def word(relation: str, item: int, side: int) -> str:
    """The item in one of its two forms."""
    return f"{relation}{item}{RELATIONS[relation][side]}"


def solved(vectors) -> float:
    """The share of all analogies of the language that the vectors solve."""
    right = asked = 0
    for relation in RELATIONS:
        for a in range(ITEMS):
            for b in range(ITEMS):
                if a == b:
                    continue
                positive = [word(relation, a, 1), word(relation, b, 0)]
                best = vectors.analogy(positive, [word(relation, a, 0)], n=1)
                right += best[0][0] == word(relation, b, 1)
                asked += 1
    return right / asked
