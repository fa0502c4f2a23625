"""The kernels that Python calls; everything else is compiled into them."""

from __future__ import annotations

from gltf_bullet.solver.compiling import compile_side_by_side, load
from gltf_bullet.solver.contact_following import follow_contacts
from gltf_bullet.solver.preparing import (
    EVALUATE,
    JUDGE,
    PREPARE,
    WAS_HURRIED,
    WAS_SLOWED,
    prepare,
)
from gltf_bullet.solver.solving import (
    FINISH,
    GATHER,
    HURRIED,
    MISPREDICTED,
    MISTRUSTED,
    NEEDS_ROOM,
    NOT_CONVERGED,
    NOT_FINITE,
    OPEN,
    SLOWED,
    SOLVE,
    solve,
)

__all__ = [
    "EVALUATE",
    "FINISH",
    "GATHER",
    "HURRIED",
    "JUDGE",
    "MISPREDICTED",
    "MISTRUSTED",
    "NEEDS_ROOM",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "OPEN",
    "PREPARE",
    "SLOWED",
    "SOLVE",
    "WAS_HURRIED",
    "WAS_SLOWED",
    "follow_contacts",
    "load_entries",
    "prepare",
    "solve",
]

_MODULES = ("preparing", "solving", "engine.stepping", "triggers.watching")
"""Those that take long to compile; the contacts' is small and comes with the third."""


def load_entries() -> None:
    """Have them all; compiled now where this machine has not yet, which takes half a minute.

    Called where the first articulation is created: scenes without joints do without.
    """
    compile_side_by_side(tuple(f"gltf_bullet.solver.{name}" for name in _MODULES))
    load()
