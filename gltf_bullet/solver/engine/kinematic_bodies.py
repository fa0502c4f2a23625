"""Kernels that look at kinematic bodies: whether anchors rest, and whether bodies are squeezed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import doubles_at, kernel, words_at
from gltf_bullet.solver.engine.calls import (
    POINT_WORDS,
    Engine,
    find_contacts,
    is_base_at,
    low_half,
)
from gltf_bullet.solver.tables import offsets
from gltf_bullet.transforms import FloatArray

# --- anchors: bodies with a prescribed motion that joints are attached to -------------------------


class _Anchor(NamedTuple):
    """An anchor."""

    body: int = 1
    """Body id, -1 for an anchor that moves."""
    state: int = 13
    """Position, rotation and velocities at which it was set at rest."""
    size: int = 0


ANCHOR = offsets(_Anchor)


@kernel
def anchors_rest(engine: Engine, client: int, anchors: FloatArray) -> bool:
    """Tell whether all anchors are where they were at rest, so that nothing has to move them."""
    for k in range(len(anchors) // ANCHOR.size):
        at = ANCHOR.size * k
        if anchors[at] < 0.0:
            return False
        if not is_base_at(engine, client, int(anchors[at]), anchors, at + ANCHOR.state):
            return False
    return True


# --- free bodies that a kinematic one presses -----------------------------------------------------


class _Pressed(NamedTuple):
    """A body of the world, by its id."""

    is_mover: int = 1
    """1 for a kinematic body."""
    depth: int = 1
    """Depth [m] to which a mover may press it; infinite for all that cannot be squeezed."""
    mass: int = 1
    """Its mass [kg]."""
    size: int = 0


PRESSED = offsets(_Pressed)


def pressed_table(bodies: int) -> FloatArray:
    """Make a table of bodies that nothing presses, shape [bodies * PRESSED.size]."""
    table = np.zeros((bodies, PRESSED.size))
    table[:, PRESSED.depth], table[:, PRESSED.mass] = np.inf, 1.0
    return table.ravel()


@kernel
def any_pressed(engine: Engine, client: int, table: FloatArray, dt: float) -> bool:
    """Tell whether a mover presses a body as deep as it may; the rest is for Python to find out."""
    count = len(table) // PRESSED.size
    if count == 0:
        return False
    for k in range(find_contacts(engine, client)):
        at = engine.contact_points + 8 * POINT_WORDS * k
        words, numbers = words_at(at, POINT_WORDS), doubles_at(at, POINT_WORDS)
        first, second = low_half(words[0] >> 32), low_half(words[1])
        if first >= count or second >= count:
            continue
        first, second = PRESSED.size * first, PRESSED.size * second
        if table[first] == table[second]:
            continue
        pressed = second if table[first] != 0.0 else first
        depth = max(-numbers[12], numbers[13] * dt**2 / table[pressed + PRESSED.mass])
        if depth >= table[pressed + PRESSED.depth]:
            return True
    return False
