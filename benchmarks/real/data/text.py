"""Texts of made-up words: reviews in folders, lines, pairs of sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SEED = 7
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an")]


def words(count: int, random: np.random.Generator) -> list[str]:
    """Made-up words, each once; those of low numbers are short."""
    found: dict[str, None] = {}
    while len(found) < count:
        parts = 1 + min(4, int(len(found) ** 0.25) // 2) + int(random.integers(0, 2))
        found["".join(random.choice(SYLLABLES, parts))] = None
    return list(found)


def sentence(known: list[str], length: int, random: np.random.Generator) -> list[str]:
    picked = np.minimum(random.zipf(1.25, length), len(known)) - 1
    return [known[index] for index in picked]


def reviews(folder: Path, counts=(("train", 4_000), ("test", 1_000))) -> None:
    """aclImdb: train and test, pos and neg, one text file a review."""
    random = np.random.default_rng(SEED)
    known = words(20_000, random)
    for part, count in counts:
        for side, label in (("pos", 200), ("neg", 400)):
            place = folder / "aclImdb" / part / side
            place.mkdir(parents=True)
            for number in range(count // 2):
                length = int(np.clip(random.lognormal(5.2, 0.5), 40, 800))
                said = sentence(known, length, random)
                said[::9] = [known[label + int(random.integers(0, 50))]] * len(
                    said[::9]
                )
                said[length // 2] += ". <br /><br />" + said[length // 2].title()
                text = " ".join(said).capitalize() + "."
                (place / f"{number}_{int(random.integers(1, 11))}.txt").write_text(text)


def questions(folder: Path) -> None:
    """Questions about four programming languages, a file each, train and test."""
    random = np.random.default_rng(SEED)
    known = words(15_000, random)
    for part, count in (("train", 500), ("test", 100)):
        for label, side in enumerate(("csharp", "java", "javascript", "python")):
            place = folder / part / side
            place.mkdir(parents=True)
            for number in range(1_755 - count + 1, 1_756):
                said = sentence(known, int(random.integers(30, 200)), random)
                said[::8] = [known[300 + 50 * label + number % 50]] * len(said[::8])
                (place / f"{number}.txt").write_text(" ".join(said) + "\n")


def authors(folder: Path) -> None:
    """The lines of three translators of one book, a file each."""
    random = np.random.default_rng(SEED)
    known = words(12_000, random)
    for name in ("cowper.txt", "derby.txt", "butler.txt"):
        lines = [
            " ".join(sentence(known, int(random.integers(5, 13)), random)).capitalize()
            for _ in range(16_000)
        ]
        (folder / name).write_text("\n".join(lines) + "\n")


def lines(folder: Path) -> None:
    """Plays: a speaker's name, then what is said, 30,000 lines."""
    random = np.random.default_rng(SEED)
    known = words(9_000, random)
    speakers = [word.upper() for word in known[300:330]]
    out = []
    for _ in range(8_000):
        out.append(f"{speakers[int(random.integers(0, 30))]}:")
        for _ in range(int(random.integers(1, 5))):
            said = sentence(known, int(random.integers(4, 11)), random)
            out.append(" ".join(said).capitalize() + ",")
        out.append("")
    (folder / "shakespeare.txt").write_text("\n".join(out))


def pairs(folder: Path) -> None:
    """Sentences and their translation, tab between: word for word."""
    random = np.random.default_rng(SEED)
    known = words(6_000, random)
    other = dict(zip(known, words(9_000, random)[3_000:], strict=True))
    rows = []
    for number in range(30_000):
        said = sentence(known, 2 + number // 5_000 + int(random.integers(0, 3)), random)
        there = [other[word] for word in said]
        rows.append((" ".join(said).capitalize() + ".", " ".join(there).title() + "!"))
    for name, tail in (("spa.txt", ""), ("fra.txt", "\tCC-BY 2.0 (made up)")):
        text = "\n".join(f"{a}\t{b}{tail}" for a, b in rows)
        (folder / name).write_text(text + "\n", encoding="utf-8")


def digit_lines(folder: Path) -> None:
    """Digits as lines: 784 brightnesses between 0 and 1, then the digit."""
    random = np.random.default_rng(SEED)
    with open(folder / "train.txt", "w", encoding="utf-8") as file:
        for _ in range(3_000):
            values = random.integers(0, 256, 784) / 255
            shown = ",".join(f"{value:.6f}" for value in values)
            file.write(f"{shown},{int(random.integers(0, 10))}\n")


def questions_and_authors(folder: Path) -> None:
    questions(folder)
    authors(folder)


MAKERS = {
    "reviews": reviews,
    "questions-and-authors": questions_and_authors,
    "digit-lines": digit_lines,
    "lines": lines,
    "pairs": pairs,
}
