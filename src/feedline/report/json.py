"""Report <-> JSON, schema 1, and the file it is kept in.

The Report's own types say how to read it, so a field that is added to a row is
written and read without another word here. What comes from a file is checked
field by field: a damaged report is a ReportError that names the file and the
place. NaN and infinity are not JSON; they are written as null, which reads back
as "not measured". In `basis`, the measurement itself, they are written as text and
read back as they were.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from feedline.errors import ReportError
from feedline.report import target
from feedline.report.basis import FORMAT, Basis, plain_value
from feedline.report.report import SCHEMA, SHARES, Report

MAX_BYTES = 50_000_000


def to_json(report: Report, *, indent: int | None = 2) -> str:
    """The report as JSON text, ASCII only, the schema's number first."""
    data = finite(asdict(replace(report, basis=None)))
    ordered = {"schema": data.pop("schema"), **data}
    if report.basis is not None:
        basis = msgspec.to_builtins(report.basis, enc_hook=plain_value)
        ordered["basis"] = finite(basis, otherwise=str)
    return json.dumps(ordered, indent=indent, allow_nan=False) + "\n"


def finite(
    value: Any, otherwise: Callable[[float], str | None] = lambda _: None
) -> Any:
    """The same data with null, or what `otherwise` gives, for what is not a number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else otherwise(value)
    if isinstance(value, dict):
        return {key: finite(item, otherwise) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item, otherwise) for item in value]
    return value


def from_json(text: str) -> Report:
    """The report that this text was made from; ReportError says what is wrong."""
    try:
        data = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"it is not JSON ({error})") from None
    if not isinstance(data, dict) or "schema" not in data:
        raise ReportError('it is JSON but not a feedline report: no "schema" field')
    if data["schema"] != SCHEMA:
        raise ReportError(
            f"its schema is {data['schema']!r} and this feedline reads schema "
            f"{SCHEMA}; a newer feedline may be needed"
        )
    basis = _basis(data.pop("basis", None))
    try:
        report = msgspec.convert(data, Report, dec_hook=_number)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise ReportError(str(error).replace("$", "report")) from None
    _check_shares(report)
    return replace(report, basis=basis)


def _basis(data: Any) -> Basis | None:
    """What another feedline kept in another form is passed over."""
    if data is None or (isinstance(data, dict) and data.get("format") != FORMAT):
        return None
    try:
        return msgspec.convert(data, Basis, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        at = str(error).replace("$", "report.basis")
        raise ReportError(f"its measurement is damaged: {at}") from None


def _check_shares(report: Report) -> None:
    shares = report.shares
    if set(shares) != set(SHARES):
        raise ReportError(f"report.shares must be {', '.join(SHARES)}")
    if not all(share >= 0 for share in shares.values()):
        raise ReportError("report.shares must not be negative")
    if abs(sum(shares.values()) - 1) > 1e-3:
        raise ReportError("report.shares must add up to 1")
    if report.bound not in SHARES:
        raise ReportError(
            f"report.bound must be one of {', '.join(SHARES)}, not {report.bound!r}"
        )


def _number(kind: type, value: Any) -> Any:
    """For msgspec, where it meets a `Number`."""
    if value is None:
        return kind(math.nan)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"Expected a number, got {value!r:.60}")
    return kind(value)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ReportError(f"{text:.60} is not a finite number")
    return number


def load(path: str | os.PathLike[str]) -> Report:
    """The report saved in a file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ReportError(f"it is larger than {MAX_BYTES // 10**6} MB")
        return from_json(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ReportError(f"cannot read {path}: it is not UTF-8 text") from None
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror or error}") from None
    except ReportError as error:
        raise ReportError(f"cannot read {path}: {error}") from None


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Where a report may be saved, as an absolute path; an error if it may not."""
    return target.check(path, ours=_replaceable, force=force)


def _replaceable(path: Path) -> bool:
    """An empty file, or a report of any schema: a JSON object with our marks."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return False
        text = path.read_text("utf-8-sig")
        data = json.loads(text) if text.strip() else {}
    except (OSError, ValueError, RecursionError):
        return False
    return not text.strip() or (
        isinstance(data, dict) and {"schema", "step", "shares", "bound"} <= set(data)
    )


def save(report: Report, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the report whole or not at all."""
    target.write(check_target(path, force=force), to_json(report), path)
