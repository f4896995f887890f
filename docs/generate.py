"""The pages of causes and fixes, and tables of options, made while mkdocs builds.

An mkdocs hook: nothing that it makes is written into the repository. A page is
its module's docstring, the text that `feedline explain NAME` prints. A comment
`<!-- options of words.train -->` becomes the table of those options.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from feedline import causes, fixes
from feedline.words.classify.options import Request
from feedline.words.option import Option, options
from feedline.words.training.options import Options

TABLES = {"words.train": Options, "words.classify.train": Request}


def on_page_markdown(markdown: str, **_: object) -> str:
    for name, owner in TABLES.items():
        markdown = markdown.replace(f"<!-- options of {name} -->", table(owner))
    return markdown


def table(owner: type) -> str:
    """The options of a command, those of a group together."""
    groups: dict[str, list[str]] = {}
    for name, option in options(owner).items():
        groups.setdefault(option.group, []).append(_row(name, option))
    rows = ["| option | what it is | default |", "| --- | --- | --- |"]
    for group, lines in groups.items():
        rows += [f"| **{group}** | | |", *lines]
    return "\n".join(rows)


def _row(name: str, option: Option) -> str:
    flag = (option.flags or (f"--{name.replace('_', '-')}",))[0]
    value = " or ".join(option.choices) or option.value
    shown = flag if option.kind is bool else f"{flag} {value}"
    default = option.unless or option.default
    if isinstance(default, bool) or default is None:
        default = ""
    elif isinstance(default, int):
        default = f"{default:,}"
    return f"| `{shown}` | {option.help} | {default} |"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    known = causes.all()
    rows = ["# Causes", "", f"feedline knows {len(known)} causes of slowness.", ""]
    for name, cause in sorted(known.items()):
        rows.append(f"- [`{name}`](causes/{name}.md): {cause.title}")
        files.append(_page(config, f"causes/{name}.md", page(cause)))
    files.append(_page(config, "causes.md", "\n".join([*rows, ""])))
    cures = fixes.all()
    rows = ["# Fixes", "", f"feedline knows {len(cures)} fixes.", ""]
    for name, fix in sorted(cures.items()):
        rows.append(f"- [`{name}`](fixes/{name}.md): {fix.title}")
        files.append(_page(config, f"fixes/{name}.md", page(fix)))
    files.append(_page(config, "fixes.md", "\n".join([*rows, ""])))
    return files


def page(cause: causes.Cause | fixes.Fix) -> str:
    """The docstring with its first line, the title, as a heading's text."""
    body = cause.page.removeprefix(cause.title).lstrip("\n")
    return f"# {cause.name}\n\n**{cause.title}.**\n\n{body}\n"


def _page(config: MkDocsConfig, path: str, text: str) -> File:
    return File.generated(config, path, content=text)
