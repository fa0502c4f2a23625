"""The outcomes of a step, one bit each.

Plain integers, since kernels know no enumerations, and those of Python take 0.5 us per question.
``bullet.joints.solving`` alone decides what follows from them.
"""

from __future__ import annotations

# --- of the engine --------------------------------------------------------------------------------

REFUSED = 1 << 0
"""The world is not as known, or the engine does not answer."""
STATE_LOST = 1 << 1
"""Coordinates are not finite; those of before are kept."""
NEW_CONTACTS = 1 << 2
"""A scene has contacts that only Python can follow: see each one's ``touching``; nothing was
solved."""
STEPPED = 1 << 4
"""The engine has made its step."""
NOT_APPLIED = 1 << 5
"""The solve failed, so that no forces were applied."""
SENSED = 1 << 6
"""Triggers have watched the step: the count of the pairs is in each scene's row."""

# --- of the solve ---------------------------------------------------------------------------------

WENT_FAR = 1 << 17
"""Free bodies may have passed something: their table marks which."""
SLIDES = 1 << 18
"""Bodies slide whose contact points keep an earlier coefficient: see the table of slip."""
PRESSES = 1 << 19
"""A kinematic body presses a free one deep."""
NEEDS_ROOM = 1 << 7
"""The islands have too little room: ``needed`` in their record says how much they need."""
NOT_CONVERGED = 1 << 8
NOT_FINITE = 1 << 9
"""A force is not finite: none may be applied."""
OUTSIDE_LIMIT = 1 << 11
"""An axis was set beyond a limit."""
EXTERNAL_DRIVE = 1 << 12
"""A motor that is not ours has begun to drive an axis."""
LIMIT_EXCEEDED = 1 << 13
"""A body went round so fast that it left a limit across several axes."""
TOO_FAST = 1 << 3
"""A joint turns so fast that engine steps do not resolve it."""

# --- of loops, after the engine's step ------------------------------------------------------------

LOOPS_CHECKED = 1 << 14
"""Loops were measured."""
LOOPS_MOVED = 1 << 15
"""Loops were closed: the engine must be given coordinates and velocities."""
LOOP_OPEN = 1 << 16
"""A loop stays open."""

# --- together -------------------------------------------------------------------------------------

NOT_MADE = REFUSED | STATE_LOST | NEW_CONTACTS
"""Outcomes of a step that kernels leave to Python before it has changed anything."""
OVER = STEPPED | LOOPS_CHECKED | SENSED
"""Outcomes of a step after which Python has nothing to do."""
