"""Tables as csv files, with the columns of the public ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SEED = 7


def _write(path: Path, columns: dict[str, np.ndarray]) -> None:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(f'"{c}"' if "," in c else c for c in columns) + "\n")
        for row in rows:
            file.write(",".join(str(value) for value in row) + "\n")


def movielens(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    place = folder / "ml-latest-small"
    place.mkdir()
    count = 100_000
    users = random.integers(1, 611, count)
    movies = np.minimum(random.zipf(1.2, count), 9_700)
    ratings = np.clip(np.round(random.normal(3.5, 1, count) * 2) / 2, 0.5, 5)
    columns = {"userId": users, "movieId": movies, "rating": ratings}
    columns["timestamp"] = random.integers(8e8, 15e8, count)
    _write(place / "ratings.csv", columns)
    known = np.unique(movies)
    titles = np.array([f"Film {number} (1999)" for number in known])
    genres = random.choice(["Drama", "Comedy|Romance", "Action"], len(known))
    _write(place / "movies.csv", {"movieId": known, "title": titles, "genres": genres})


def weather(folder: Path) -> None:
    """Jena: one row every ten minutes, 14 quantities that swing by day and year."""
    random = np.random.default_rng(SEED)
    count = 90_000
    start = np.datetime64("2009-01-01T00:10:00")
    times = start + np.arange(count) * np.timedelta64(10, "m")
    shown = [
        f"{str(t)[8:10]}.{str(t)[5:7]}.{str(t)[:4]} {str(t)[11:19]}" for t in times
    ]
    day = np.sin(np.arange(count) * 2 * np.pi / 144)
    year = np.sin(np.arange(count) * 2 * np.pi / 52_560)
    columns = {"Date Time": np.array(shown)}
    names = [
        "p (mbar)",
        "T (degC)",
        "Tpot (K)",
        "Tdew (degC)",
        "rh (%)",
        "VPmax (mbar)",
        "VPact (mbar)",
        "VPdef (mbar)",
        "sh (g/kg)",
        "H2OC (mmol/mol)",
        "rho (g/m**3)",
        "wv (m/s)",
        "max. wv (m/s)",
        "wd (deg)",
    ]
    for number, name in enumerate(names):
        noise = np.cumsum(random.normal(0, 0.02, count)) + random.normal(0, 0.3, count)
        values = 10 + number * 5 + 3 * day + 7 * year + noise
        columns[name] = np.round(np.abs(values), 2)
    _write(folder / "jena_climate_2009_2016.csv", columns)


def pets(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    count = 11_537
    pick = lambda *given: random.choice(np.array(given), count)  # noqa: E731
    columns = {
        "Type": pick("Cat", "Dog"),
        "Age": random.integers(0, 120, count),
        "Breed1": pick(*(f"Breed {n}" for n in range(160))),
        "Gender": pick("Male", "Female"),
        "Color1": pick("Black", "Brown", "White", "Gray", "Golden", "Cream", "Yellow"),
        "Color2": pick("White", "No Color", "Brown", "Gray", "Yellow"),
        "MaturitySize": pick("Small", "Medium", "Large"),
        "FurLength": pick("Short", "Medium", "Long"),
        "Vaccinated": pick("Yes", "No", "Not Sure"),
        "Sterilized": pick("Yes", "No", "Not Sure"),
        "Health": pick("Healthy", "Minor Injury", "Serious Injury"),
        "Fee": random.integers(0, 500, count),
        "Description": pick("made up", "friendly", "calm"),
        "PhotoAmt": random.integers(0, 10, count),
        "AdoptionSpeed": random.integers(0, 5, count),
    }
    _write(folder / "petfinder-mini.csv", columns)


def card_fraud(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    count = 60_000
    columns = {"Time": np.arange(count)}
    fraud = random.random(count) < 0.01
    for number in range(1, 29):
        columns[f"V{number}"] = np.round(random.normal(fraud * 0.8, 1, count), 5)
    columns["Amount"] = np.round(random.lognormal(3, 1, count), 2)
    columns["Class"] = fraud.astype(int)
    _write(folder / "creditcard.csv", columns)


def forest(folder: Path) -> None:
    """Cover types: ten numbers, one of 4 areas, one of 40 soils, the type."""
    random = np.random.default_rng(SEED)
    count = 24_000
    numbers = random.integers(0, 3_000, (count, 10))
    areas = np.eye(4, dtype=int)[random.integers(0, 4, count)]
    soils = np.eye(40, dtype=int)[random.integers(0, 40, count)]
    types = 1 + (numbers[:, 0] * 7 // 3_000)
    rows = np.concatenate([numbers, areas, soils, types[:, None]], 1)
    np.savetxt(folder / "covtype.csv", rows, "%d", ",")


def ratings(folder: Path) -> None:
    """MovieLens 1M: user::movie::rating::time, 60,000 of them."""
    random = np.random.default_rng(SEED)
    count = 60_000
    users = random.integers(1, 6_041, count)
    movies = np.minimum(random.zipf(1.2, count), 3_900)
    stars = random.integers(1, 6, count)
    times = random.integers(956_703_932, 1_046_454_590, count)
    place = folder / "ml-1m"
    place.mkdir()
    rows = zip(users, movies, stars, times, strict=True)
    text = "".join(f"{u}::{m}::{s}::{t}\n" for u, m, s, t in rows)
    (place / "ratings.dat").write_text(text)


def higgs(folder: Path) -> None:
    """A label and 28 numbers a row, gzipped, no header."""
    import gzip

    random = np.random.default_rng(SEED)
    labels = random.integers(0, 2, (12_000, 1))
    values = random.normal(labels * 0.2, 1, (12_000, 28))
    rows = np.concatenate([labels, values], 1)
    with gzip.open(folder / "HIGGS.csv.gz", "wt") as file:
        np.savetxt(file, rows, "%.6e", ",")


def heart(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    count = 303
    pick = lambda low, high: random.integers(low, high, count)  # noqa: E731
    columns = {
        "age": pick(29, 78),
        "sex": pick(0, 2),
        "cp": pick(0, 5),
        "trestbps": pick(94, 200),
        "chol": pick(126, 564),
        "fbs": pick(0, 2),
        "restecg": pick(0, 3),
        "thalach": pick(71, 202),
        "exang": pick(0, 2),
        "oldpeak": np.round(random.random(count) * 6, 1),
        "slope": pick(1, 4),
        "ca": pick(0, 4),
        "thal": random.choice(["fixed", "normal", "reversible"], count),
        "target": pick(0, 2),
    }
    _write(folder / "heart.csv", columns)


MAKERS = {
    "movielens": movielens,
    "weather": weather,
    "pets": pets,
    "card-fraud": card_fraud,
    "forest": forest,
    "heart": heart,
    "ratings": ratings,
    "higgs": higgs,
}
