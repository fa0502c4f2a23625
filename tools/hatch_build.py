"""Build hook: what pip builds holds the joint solver's kernels as machine code.

Numba is then needed to build, not to run. A wheel gets the libraries; an editable installation has
them in its tree, where Git ignores them. Where they cannot be made (another system, no linker),
what is built depends on Numba, which compiles at first use. ``HATCH_BUILD_NO_HOOKS=true`` leaves
all of this out; then ask for the extra ``jit``.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PLACE = "gltf_bullet/solver/compiled"
_SOURCES = ("gltf_bullet/numba_aot", "gltf_bullet/solver")
"""All that the libraries are made of, as ``gltf_bullet.solver`` says as well."""
_IMPORTED = {"filelock", "lazy-loader", "numpy", "platformdirs"}
"""Packages that the modules of kernels import."""


class KernelHook(BuildHookInterface[Any]):
    """Compiles the kernels while the package is built."""

    PLUGIN_NAME = "custom"
    _aside: Path | None = None
    """Where libraries are made beside a tree that only others may write."""

    def dependencies(self) -> list[str]:
        """Name the packages that compiling needs, where that is to be done."""
        if self._present() or not self._can_compile():
            return []
        needed = self.metadata.core.dependencies
        return self._jit() + [line for line in needed if _name(line) in _IMPORTED]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the libraries into what is built."""
        libraries = self._present() or self._compiled(version)
        if not libraries:
            build_data["dependencies"] += self._jit()
        elif version != "editable":
            for path in libraries:
                build_data["force_include"][str(path)] = f"{_PLACE}/{path.name}"
            build_data["pure_python"], build_data["tag"] = False, _tag()

    def finalize(self, *_: Any) -> None:
        """Remove the libraries that the wheel holds by now."""
        if self._aside is not None:
            shutil.rmtree(self._aside, ignore_errors=True)

    def _compiled(self, version: str) -> list[Path]:
        """Make the libraries; none where that cannot be."""
        folder = Path(self.root) / _PLACE
        can_keep = os.access(folder.parent, os.W_OK)
        if not self._can_compile() or (version == "editable" and not can_keep):
            return []
        if not can_keep:
            folder = self._aside = Path(mkdtemp())
        sys.path.insert(0, self.root)
        try:
            from gltf_bullet.solver.entries import build_libraries

            return build_libraries(folder)
        except (ImportError, OSError, RuntimeError) as error:
            self.app.display_warning(f"{error}: they are compiled at first use")
            return []

    def _present(self) -> list[Path]:
        """Find the libraries of these sources in the tree, where they were made before."""
        library = self._library()
        if not library.is_for_this_platform():
            return []
        digest = library.source_digest([Path(self.root) / folder for folder in _SOURCES])
        folder = Path(self.root) / _PLACE
        paths = [folder / library.library_name(level, digest) for level in library.LEVELS]
        return paths if all(path.is_file() for path in paths) else []

    def _can_compile(self) -> bool:
        library = self._library()
        return bool(library.is_for_this_platform() and library.linker())

    def _library(self) -> ModuleType:
        """Import a module that needs the standard library only, without the package around it."""
        path = Path(self.root) / _SOURCES[0] / "library.py"
        spec = importlib.util.spec_from_file_location("_numba_aot_library", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is no module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _jit(self) -> list[str]:
        return list(self.metadata.core.optional_dependencies["jit"])


def _tag() -> str:
    """Any CPython; of the C library they need functions that are older than 2.17."""
    is_glibc = platform.libc_ver()[0] == "glibc"
    return f"py3-none-{'manylinux_2_17' if is_glibc else 'linux'}_x86_64"


def _name(requirement: str) -> str:
    """The normalised name of what a line of dependencies asks for."""
    found = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[._-]+", "-", found[0]).lower() if found else ""
