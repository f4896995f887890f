"""The command line of a table of options: see words/option.py.

A command takes `**options: Any`; `takes` puts a parameter for each option in their
place, with its help and under its heading, where Typer looks for parameters.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from feedline.words.option import Option, options

_enum: Any = Enum  # mypy wants the names in the source
Command = TypeVar("Command", bound=Callable[..., None])

Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Save the figures as JSON."),
]
ForceJson = Annotated[bool, typer.Option("--force", help="Overwrite FILE of --json.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="No progress, no summary.", rich_help_panel="Output"
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "-o",
        "--out",
        metavar="DIR",
        help="Save to DIR.",
        show_default=False,
        rich_help_panel="Output",
    ),
]


def takes(
    table: type, *, without: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Give a command the options of a dataclass, but for some."""
    known = {name: one for name, one in options(table).items() if name not in without}

    def wrap(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        parameters = []
        for parameter in own.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                parameters += [_parameter(name, one) for name, one in known.items()]
            else:
                parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return wrap


def plain(given: dict[str, Any]) -> dict[str, Any]:
    """What the Python function takes: names in the place of choices."""
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in given.items()
    }


class Grouped(TyperCommand):
    """A command whose help has its options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is None:
                continue
            argument = parameter.param_type_name == "argument"
            group = getattr(parameter, "rich_help_panel", None) or "Other"
            groups.setdefault("Arguments" if argument else group, []).append(line)
        for group, lines in groups.items():
            with formatter.section(group):
                formatter.write_dl(lines)


def _parameter(name: str, known: Option) -> inspect.Parameter:
    kind: Any = Path if known.kind is os.PathLike else known.kind
    default = known.default
    if known.choices:
        pairs = [(choice, choice) for choice in known.choices]
        kind = _enum(name, pairs, type=str)
        default = kind(default)
    option = typer.Option(
        *known.flags or (f"--{name.replace('_', '-')}",),
        metavar=None if known.choices or kind is bool else known.value,
        help=known.help + (f"  [default: {known.unless}]" if known.unless else ""),
        show_default=default is not None and kind is not bool,
        rich_help_panel=known.group,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind | None if default is None else kind, option],
    )
