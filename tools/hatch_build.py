"""Build hook: what pip builds holds the joint solver's kernels as machine code.

Numba is then needed to build, not to run. A wheel gets the library of the system that it is built
on, or of the one that ``GLTF_BULLET_WHEEL_TARGET`` names (``tools/build_wheel.py``); an editable
installation has it in its tree, where Git ignores it. Where it cannot be made, what is built runs
the solver in plain Python, or through Numba with the extra ``jit``, and an issue says so.
``HATCH_BUILD_NO_HOOKS=true`` leaves all of this out.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement

TARGET = "GLTF_BULLET_WHEEL_TARGET"
"""Environment variable: the system that the wheel is for, a name of ``library.TARGETS``."""
_PLACE = "gltf_bullet/solver/compiled"
_SOURCES = ("gltf_bullet/numba_aot", "gltf_bullet/solver")
"""All that the libraries are made of, as ``gltf_bullet.solver`` says as well."""
_IMPORTED = {"filelock", "lazy-loader", "msgspec", "numpy", "platformdirs"}
"""Packages that the modules of kernels import."""
_ENGINES = ("pybullet", "pybullet-arm64")
"""Distributions of the one module ``pybullet``."""


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
        jit = self.metadata.core.optional_dependencies["jit"]
        linker = [] if self._library().linker() else ["ziglang"]
        return linker + list(jit) + [line for line in needed if _name(line) in _IMPORTED]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the library into what is built."""
        if not os.environ.get(TARGET):
            require_own_engine(self.metadata.core.dependencies, _environment())
        library = self._present() or self._compiled(version)
        if library and version != "editable":
            build_data["force_include"][str(library)] = f"{_PLACE}/{library.name}"
            build_data["pure_python"], build_data["tag"] = False, f"py3-none-{self._platform()}"

    def finalize(self, *_: Any) -> None:
        """Remove the library that the wheel holds by now."""
        if self._aside is not None:
            shutil.rmtree(self._aside, ignore_errors=True)

    def _target(self) -> str | None:
        stated = os.environ.get(TARGET)
        return stated if stated else self._library().host_target()

    def _platform(self) -> str:
        """The wheel's platform: a C library other than glibc is told from it by ``linux`` alone."""
        target = str(self._target())
        is_own_linux = target.startswith("linux") and not os.environ.get(TARGET)
        if is_own_linux and platform.libc_ver()[0] != "glibc":
            return target.replace("-", "_")
        return str(self._library().TARGETS[target].wheel)

    def _compiled(self, version: str) -> Path | None:
        """Make the library; none where that cannot be."""
        folder = Path(self.root) / _PLACE
        can_keep = os.access(folder.parent, os.W_OK)
        if not self._can_compile() or (version == "editable" and not can_keep):
            return None
        if not can_keep:
            folder = self._aside = Path(mkdtemp())
        sys.path.insert(0, self.root)
        try:
            from gltf_bullet.numba_aot.builds import build_libraries
            from gltf_bullet.solver import entries  # noqa: F401  # says what is compiled

            [made] = build_libraries(folder, {str(self._target()): self._library().linker()})
        except (ImportError, OSError, RuntimeError) as error:
            self.app.display_warning(f"{error}: joints are solved without machine code")
            return None
        return made

    def _present(self) -> Path | None:
        """Find the library of these sources in the tree, where it was made before."""
        library, target = self._library(), self._target()
        if target is None:
            return None
        digest = library.source_digest([Path(self.root) / folder for folder in _SOURCES])
        path = Path(self.root) / _PLACE / library.library_name(target, digest)
        return path if path.is_file() else None

    def _can_compile(self) -> bool:
        target = self._target()
        return target is not None and target == self._library().host_target()

    def _library(self) -> ModuleType:
        """Import a module that needs the standard library only, without the package around it."""
        path = Path(self.root) / _SOURCES[0] / "library.py"
        spec = importlib.util.spec_from_file_location("_numba_aot_library", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is no module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def require_own_engine(needed: list[str], folders: list[str]) -> None:
    """Refuse to have a PyBullet overwritten that is there by another name than is asked for.

    Both distributions write the same files, and pip asks nobody.

    Args:
        needed: The package's requirements.
        folders: Where packages are installed for whom this is built.

    Raises:
        RuntimeError: It is there; the message says what to do.
    """
    requirements = [Requirement(line) for line in needed]
    asked = {
        made.name for made in requirements if made.marker is None or made.marker.evaluate()
    }.intersection(_ENGINES)
    found = {
        _name(made.metadata["Name"] or ""): made.version
        for made in importlib.metadata.distributions(path=folders)
    }
    there = [name for name in _ENGINES if name in found]
    if there and asked.isdisjoint(there):
        name = there[0]
        raise RuntimeError(
            f"PyBullet is here already ({name} {found[name]}), and {', '.join(asked)} would be "
            "written over it. To keep it: pip install ./tools/present_pybullet, then this again. "
            f"To exchange it: pip uninstall {name}, then this again."
        )


def _environment() -> list[str]:
    """The folders of packages of the interpreter that builds: pip's is that of whom it is for."""
    return sorted({sysconfig.get_path(kind) for kind in ("purelib", "platlib")})


def _name(requirement: str) -> str:
    """The normalised name of what a line of dependencies asks for."""
    found = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[._-]+", "-", found[0]).lower() if found else ""
