"""The table of free bodies that kernels go through around an engine step."""

from __future__ import annotations

from typing import NamedTuple

from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.tables import offsets


class _Header(NamedTuple):
    """Numbers before the bodies."""

    thinnest: int = 1
    """The least travel in a step [m] for which a body is fast."""
    pause: int = 1
    """Number of steps in which no body can become fast."""
    needs_forces: int = 1
    """1 if some body needs a force or a torque."""
    is_first: int = 1
    """1 during the first of several engine steps of a step."""
    has_loads: int = 1
    """1 if forces of others on some body act in all engine steps of the present step."""
    contact: int = ROW_SIZE
    """Scratch for a contact."""
    ray: int = 6
    """Scratch for the start and the end of a ray [m]."""
    size: int = 0


class _Free(NamedTuple):
    """One body: what is known of it, what is read of it, and what was found."""

    body_id: int = 1
    is_held: int = 1
    """1 while its pose is prescribed."""
    tumbles: int = 1
    """1 if its principal moments differ."""
    lifted: int = 1
    """Mass times (gravity factor - 1) [kg]."""
    slow: int = 1
    """Squared spin [rad^2/s^2] times time step [s] up to which the engine is right enough."""
    moments: int = 3
    """Principal moments of inertia [kg m^2]."""
    furthest: int = 1
    """Travel in a step [m] above which it is fast; inf if it never is."""
    half_length: int = 1
    """[m]"""
    reach: int = 1
    """Radius of a ball about the centre of mass that holds the body [m]."""
    is_fast: int = 1
    """1 if it went too far in the last step, with others around it."""
    position: int = 3
    rotation: int = 4
    """xyzw, world from principal axes."""
    velocity: int = 3
    spin: int = 3
    """[rad/s], world axes."""
    force: int = 3
    """[N], world axes."""
    torque: int = 3
    """[N m], world axes."""
    frame: int = 9
    """[3, 3] scratch: principal axes now, as a matrix."""
    is_stopped: int = 1
    """1 if it was put back to a surface in the last step."""
    half_thickness: int = 1
    """[m]; of a ball its radius."""
    is_ball: int = 1
    is_central: int = 1
    """1 if the only probe is the centre of mass."""
    probe_count: int = 1
    """Count of the points whose paths are followed; 0 if there are more than three."""
    probes: int = 9
    """[3, 3], these points [m], principal axes."""
    reaches: int = 3
    """Distance that the body may reach beyond each along its path [m]."""
    mass: int = 1
    """[kg]; 0 for bodies that others' forces are not repeated on."""
    was: int = 13
    """Position, rotation, velocity and spin before the first engine step of a step."""
    given: int = 6
    """Force and torque that we have given to it in the first engine step of a step."""
    load: int = 6
    """Force and torque of others in that engine step, which the next ones repeat."""
    pushed: int = 7
    """Scratch: impulse and turning impulse of its contacts, and the sum of their amounts."""
    turn: int = 9
    turned: int = 9
    """[3, 3] scratch: principal axes at another time of the step."""
    half: int = 4
    momentum: int = 3
    found: int = 3
    explicit: int = 3
    size: int = 0


HEADER, FREE = offsets(_Header), offsets(_Free)
