"""The pages of causes and fixes, made from their modules while mkdocs builds.

An mkdocs hook: nothing that it makes is written into the repository. A page is
its module's docstring, the text that `feedline explain NAME` prints.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from feedline import causes, fixes


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
