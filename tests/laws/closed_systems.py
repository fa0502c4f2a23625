"""Random closed systems, what they hold of momentum and energy, and what the engine makes of them.

Nothing is fixed and nothing pulls: what such a system has, it keeps. Places are in m, glTF axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pybullet
from scipy.spatial.transform import Rotation

import gltf_bullet as gb
from tests.physics.scenes import Jointed, Scenery, world

Floats = npt.NDArray[np.float64]

MODES = ("average", "minimum", "maximum", "multiply")


@dataclass(slots=True)
class Ledger:
    """What the bodies of a scene hold at one moment, world axes."""

    momentum: Floats
    """[kg m/s], shape [3]."""
    angular_momentum: Floats
    """About the world's origin [kg m^2/s], shape [3]."""
    energy: float
    """Kinetic [J]."""
    moving: float
    """Sum of m |v| [kg m/s]: what an error of momentum is compared with."""
    turning: float
    """Sum of |I w| + |r x m v| about the common centre [kg m^2/s]; likewise."""
    fastest: float
    """Of the centres of mass [m/s]."""


def ledger(scene: gb.Scene) -> Ledger:
    """Add up the bodies of a scene, free and jointed ones."""
    rows: list[tuple[float, Floats, Floats, Floats, Floats]] = []
    client, engine = scene.client_id, scene.core.world
    for body in engine.free.ids:
        mass, _, moments = pybullet.getDynamicsInfo(body, -1, client)[:3]
        place, turn = pybullet.getBasePositionAndOrientation(body, client)
        velocity, spin = pybullet.getBaseVelocity(body, client)
        axes = Rotation.from_quat(turn).as_matrix()
        inertia = axes @ np.diag(moments) @ axes.T
        rows.append((mass, np.array(place), np.array(velocity), np.array(spin), inertia))
    for articulation in engine.articulations.articulations:
        state = articulation.read()
        rows += zip(
            state.masses.tolist(), state.com.copy(), state.linear_velocity.copy(),
            state.angular_velocity.copy(), state.inertia_in_world.copy(), strict=True,
        )  # fmt: skip
    rows = [row for row in rows if row[0] > 0.0]
    total = sum(mass for mass, *_ in rows)
    centre = sum(mass * place for mass, place, *_ in rows) / total
    found = Ledger(np.zeros(3), np.zeros(3), 0.0, 0.0, 0.0, 0.0)
    for mass, place, velocity, spin, inertia in rows:
        momentum, turning = mass * velocity, inertia @ spin
        found.momentum += momentum
        found.angular_momentum += np.cross(place, momentum) + turning
        found.energy += 0.5 * float(momentum @ velocity + turning @ spin)
        found.moving += float(np.linalg.norm(momentum))
        found.turning += float(np.linalg.norm(turning))
        found.turning += float(np.linalg.norm(np.cross(place - centre, momentum)))
        found.fastest = max(found.fastest, float(np.linalg.norm(velocity)))
    return found


# --- how a scene is stepped ---------------------------------------------------------------------

Stepper = Callable[[gb.Scene], None]


def ours(scene: gb.Scene) -> None:
    """One step of ours."""
    scene.step()


def engine_alone(scene: gb.Scene) -> None:
    """The engine's step, with none of our forces and nothing of ours after it."""
    pybullet.stepSimulation(scene.client_id)


@dataclass(slots=True)
class Course:
    """What became of a closed system."""

    momentum_error: float
    """Largest change, of all that moves (at the start, or then if that is more)."""
    angular_error: float
    """Likewise of the angular momentum."""
    angular_change: float
    """Largest change of that [kg m^2/s]."""
    energy_ratio: float
    """Largest energy, of that at the start; infinite where that was nil and something moves."""
    fastest: float
    """Largest speed [m/s] of any body at any time."""


def follow(
    source: bytes, rate: float, step: Stepper = ours, duration: float = 1.0, **placement: Any
) -> Course:
    """Step a closed system and compare what it holds with what it began with."""
    with world(source, rate=rate, gravity=0.0, **placement) as scene:
        start = ledger(scene)
        found = Course(0.0, 0.0, 0.0, 0.0, start.fastest)
        for _ in range(round(duration * rate)):
            step(scene)
            now = ledger(scene)
            moving = max(start.moving, now.moving, 1e-3)
            turning = max(start.turning, now.turning, 1e-3)
            change = float(np.linalg.norm(now.momentum - start.momentum)) / moving
            turned = float(np.linalg.norm(now.angular_momentum - start.angular_momentum))
            found.momentum_error = max(found.momentum_error, change)
            found.angular_error = max(found.angular_error, turned / turning)
            found.angular_change = max(found.angular_change, turned)
            if start.energy > 0.0:
                found.energy_ratio = max(found.energy_ratio, now.energy / start.energy)
            elif now.energy > 1e-9:
                found.energy_ratio = math.inf
            found.fastest = max(found.fastest, now.fastest)
    return found


# --- free bodies --------------------------------------------------------------------------------


def _random_shape(scenery: Scenery, rng: np.random.Generator, size: float) -> int:
    """A shape that a sphere of radius ``size`` [m] holds about; of every kind."""
    kind = int(rng.integers(6))
    if kind == 0:
        return scenery.shape("sphere", radius=float(size))
    if kind == 1:
        sides = size * rng.uniform(0.5, 1.15, 3)
        return scenery.shape("box", size=(2.0 * sides / math.sqrt(3.0) * 1.2).tolist())
    if kind == 2:
        return scenery.shape(
            "capsule", radiusBottom=float(0.5 * size), radiusTop=float(0.5 * size),
            height=float(size),
        )  # fmt: skip
    if kind == 3:
        return scenery.shape(
            "cylinder", radiusBottom=float(0.7 * size), radiusTop=float(0.7 * size),
            height=float(1.2 * size),
        )  # fmt: skip
    if kind == 4:  # becomes a hull
        return scenery.shape(
            "cylinder", radiusBottom=float(0.8 * size), radiusTop=float(0.4 * size),
            height=float(1.2 * size),
        )  # fmt: skip
    return scenery.shape(
        "capsule", radiusBottom=float(0.6 * size), radiusTop=float(0.3 * size), height=float(size)
    )


def _random_material(scenery: Scenery, rng: np.random.Generator, *, bounces: bool) -> int:
    friction = float(rng.uniform(0.0, 1.0))
    return scenery.material(
        staticFriction=friction, dynamicFriction=friction,
        restitution=float(rng.uniform(0.0, 1.0)) if bounces and rng.random() < 0.5 else 0.0,
        frictionCombine=str(rng.choice(MODES)), restitutionCombine=str(rng.choice(MODES)),
    )  # fmt: skip


def free_bodies(
    seed: int,
    *,
    spread: float,
    speed: float,
    spin: float = 0.0,
    bounces: bool = True,
    compounds: bool = True,
) -> bytes:
    """Two to eight free bodies of 0.1 to 10 kg.

    Args:
        seed: Of everything else.
        spread: Half the side of the cube in which they are [m]: 0.2 lets them overlap.
        speed: Largest velocity along each axis [m/s], towards the middle where they stand apart.
        spin: Largest spin about each axis [rad/s].
        bounces: Whether half of the materials have a restitution.
        compounds: Whether a quarter of the bodies have a second collider with another material.
    """
    rng = np.random.default_rng(seed)
    scenery = Scenery()
    for k in range(int(rng.integers(2, 9))):
        size = float(rng.uniform(0.1, 0.35))
        at = rng.uniform(-spread, spread, 3)
        velocity = rng.uniform(-speed, speed, 3)
        turn = Rotation.random(random_state=rng)
        children = []
        if compounds and rng.random() < 0.25:
            children.append(scenery.node(
                f"Part{k}", at=rng.uniform(-size, size, 3).tolist(),
                shape=_random_shape(scenery, rng, 0.6 * size),
                material=_random_material(scenery, rng, bounces=bounces),
            ))  # fmt: skip
        scenery.node(
            f"Body{k}", at=at.tolist(), rotation=turn.as_quat().tolist(), children=children,
            shape=_random_shape(scenery, rng, size),
            material=_random_material(scenery, rng, bounces=bounces),
            motion={
                "mass": float(10 ** rng.uniform(-1, 1)),
                "linearVelocity": turn.inv().apply(velocity).tolist(),
                "angularVelocity": rng.uniform(-spin, spin, 3).tolist(),
            },
        )  # fmt: skip
    return scenery.bytes()


def overlapping(seed: int) -> bytes:
    """Bodies at rest, thrown into each other, up to half a metre deep."""
    return free_bodies(seed, spread=0.2, speed=0.0)


def touching(seed: int) -> bytes:
    """A cloud of bodies that move slowly through the same place."""
    return free_bodies(seed, spread=0.35, speed=1.0, spin=1.0, bounces=False)


def gas(seed: int) -> bytes:
    """Fast bodies that begin apart and meet now and then."""
    return free_bodies(seed, spread=1.2, speed=8.0, spin=5.0)


# --- jointed bodies -----------------------------------------------------------------------------


def doll(
    seed: int, *, limits: bool = True, solid: bool = True, speed: float = 1.0, spin: float = 3.0
) -> bytes:
    """A tree of three to seven bodies on balls and hinges that flies and turns freely.

    ``solid``: its bodies collide with each other, but for those that a joint connects.
    """
    rng = np.random.default_rng(seed)
    scenery = Jointed()
    count = int(rng.integers(3, 8))
    velocity, turning = rng.uniform(-speed, speed, 3), rng.uniform(-spin, spin, 3)
    places = [np.zeros(3)]
    bodies = []
    for k in range(count):
        parent = int(rng.integers(k)) if k else -1
        if k:
            step = rng.normal(size=3)
            places.append(places[parent] + 0.5 * step / np.linalg.norm(step))
        moved = velocity + np.cross(turning, places[k])
        shape = scenery.shape("capsule", radiusBottom=0.05, radiusTop=0.05, height=0.2)
        bodies.append(scenery.node(
            f"Body{k}", at=places[k].tolist(), shape=shape if solid else None,
            motion={
                "mass": (mass := float(10 ** rng.uniform(-0.5, 0.7))),
                "inertiaDiagonal": (mass * rng.uniform(0.008, 0.012, 3)).tolist(),
                "linearVelocity": moved.tolist(),
                "angularVelocity": (turning + rng.uniform(-1, 1, 3)).tolist(),
            },
        ))  # fmt: skip
        if not k:
            continue
        middle = 0.5 * (places[k] + places[parent])
        turn = Rotation.random(random_state=rng).as_quat().tolist()
        ends = [scenery.attachment(bodies[parent], (middle - places[parent]).tolist(), turn),
                scenery.attachment(bodies[k], (middle - places[k]).tolist(), turn)]  # fmt: skip
        joint: list[dict[str, Any]] = [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]
        kind = rng.random()
        if kind < 0.4:
            joint.append({"angularAxes": [1, 2], "min": 0, "max": 0})
            if limits and rng.random() < 0.5:
                joint.append({"angularAxes": [0], "min": -0.6, "max": 0.6})
        elif limits and kind < 0.8:
            joint.append({"angularAxes": [1, 2], "max": 0.7})
            joint.append({"angularAxes": [0], "min": -0.4, "max": 0.4})
        scenery.join(*ends, limits=joint)
    return scenery.bytes()


@contextmanager
def three_boxes(rate: float) -> Iterator[gb.Scene]:
    """The row of the faults page: three boxes of half a metre, in each other."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    for at in ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.25, 0.42, 0.0)):
        scenery.node("Box", at=at, shape=box, motion={"mass": 1.0})
    with world(scenery.bytes(), rate=rate, gravity=0.0) as scene:
        yield scene
