"""The outcomes of a step: everything that the kernels say of one, each a bit of its own.

Plain integers, since kernels know no enumerations, and those of Python take 0.5 us per question.
Who acts on what is decided in ``bullet.joints.solving`` alone.
"""

from __future__ import annotations

# --- of the engine --------------------------------------------------------------------------------

REFUSED = 1 << 0
"""The world is not as known, or the engine does not answer: Python shall look."""
LOST = 1 << 1
"""Coordinates are not finite; those of before are kept."""
TOUCHES = 1 << 2
"""A scene touches what kernels do not know: see each one's TOUCHING; nothing was solved."""
DIVIDES = 1 << 3
"""The step needs several engine steps, as PARTS in the first row says; nothing was done."""
STEPPED = 1 << 4
"""The engine has made its step."""
UNTOLD = 1 << 5
"""Forces were found, but the engine was given none."""
SENSED = 1 << 6
"""Triggers have watched the step: how many pairs they found is in each scene's row."""

# --- of the solve ---------------------------------------------------------------------------------

NEEDS_ROOM = 1 << 7
"""The islands have too little room: NEEDED in their header says how much they need."""
NOT_CONVERGED = 1 << 8
NOT_FINITE = 1 << 9
"""A force is not: the engine must be given none."""
MISPREDICTED = 1 << 10
"""The last step went otherwise than foreseen; motors are asked for."""
STRANDED = 1 << 11
"""Others have put an axis beyond a limit."""
TAKEN_OVER = 1 << 12
"""A motor of theirs has taken an axis over."""
OVERSHOT = 1 << 13
"""A body went round so fast that it left a limit across several axes."""

# --- of loops, after the engine's step ------------------------------------------------------------

CLOSED = 1 << 14
"""They were looked at."""
WAS_MOVED = 1 << 15
"""They were closed: the engine must be given places and velocities."""
WAS_TORN = 1 << 16
"""One stays open."""
