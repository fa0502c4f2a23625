"""The kernels that Python calls; everything else is compiled into them."""

from __future__ import annotations

from functools import cache

from gltf_bullet.solver.compiling import compile_side_by_side, load
from gltf_bullet.solver.contact_following import follow_contacts
from gltf_bullet.solver.preparing import prepare
from gltf_bullet.solver.solving import solve

__all__ = ["follow_contacts", "load_entries", "prepare", "solve"]

_MODULES = ("preparing", "solving", "engine.stepping", "triggers.watching")
"""Those that take long to compile, the longest first; the contacts' comes with the third."""


def load_entries() -> None:
    """Have them all; compiled now where this machine has not yet, which takes half a minute.

    Called where the first articulation is created: scenes without joints do without.
    """
    _load_once()


@cache
def _load_once() -> None:
    compile_side_by_side(tuple(f"gltf_bullet.solver.{name}" for name in _MODULES))
    load()
