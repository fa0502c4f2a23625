"""The kernels that Python calls; everything else is compiled into them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gltf_bullet.numba_aot import IS_COMPILED, compile_side_by_side, load
from gltf_bullet.solver.contact_following import follow_contacts
from gltf_bullet.solver.step_kernel import prepare, solve

__all__ = ["build_libraries", "follow_contacts", "load_entries", "prepare", "solve"]

_MODULES = tuple(
    f"gltf_bullet.solver.{name}"
    for name in ("step_kernel", "engine.stepping", "triggers.watching", "engine.free_motion")
)
"""Modules that declare entries; the contacts' comes with the second."""


def load_entries() -> None:
    """Have them all; compiled now where neither the package nor this machine has them.

    Called where the first articulation is created: scenes without joints do without.

    Raises:
        ImportError: They are to be compiled, and Numba is not installed.
    """
    _load_once()


def build_libraries(folder: Path) -> list[Path]:
    """Make the libraries that come with the package, where it is built.

    Raises:
        RuntimeError: They could not be made.
    """
    from gltf_bullet.numba_aot.builds import build_libraries as build

    return build(_MODULES, folder)


@cache
def _load_once() -> None:
    if IS_COMPILED:
        compile_side_by_side(_MODULES)
        load()
