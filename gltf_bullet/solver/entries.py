"""The kernels that Python calls; everything else is compiled into them.

Importing this module compiles them (once on a machine), so it is imported where the first
articulation is created, not before.
"""

from __future__ import annotations

from gltf_bullet.solver.compiling import compile_side_by_side

_MODULES = ("preparing", "solving", "engine.stepping", "triggers.watching")
"""Those that take long to compile; the contacts' is small and comes with the third."""

compile_side_by_side(tuple(f"gltf_bullet.solver.{name}" for name in _MODULES))

# They are loaded from the cache now, where there is one; that of triggers where a scene has some.
from gltf_bullet.solver.contact_following import follow_contacts  # noqa: E402
from gltf_bullet.solver.preparing import (  # noqa: E402
    EVALUATE,
    JUDGE,
    PREPARE,
    WAS_HURRIED,
    WAS_SLOWED,
    prepare,
)
from gltf_bullet.solver.solving import (  # noqa: E402
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
    "prepare",
    "solve",
]
