"""Do something right after a module has been imported, whenever that is.

The user's script decides when TensorFlow is imported, if at all; feedline must
not import it first. A finder on `sys.meta_path` lets the real import happen and
then calls what was registered for that module.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Patch = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """`patches` maps a module's full name to what is done with it."""

    def __init__(self, patches: dict[str, Patch]) -> None:
        self._patches = dict(patches)

    def install(self) -> None:
        for name in list(self._patches):
            if name in sys.modules:
                self._apply(sys.modules[name])
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._patches:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self._apply)
                return spec
        return None

    def _apply(self, module: ModuleType) -> None:
        patch = self._patches.pop(module.__name__, None)
        if patch is not None:
            patch(module)


class _Loader(importlib.abc.Loader):
    """The module's own loader, followed by the patch."""

    def __init__(self, loader: importlib.abc.Loader, then: Patch) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(module)
