"""What ``python -m tools.bench contact`` measures: ours, bare PyBullet, the formula."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.asset import load_gltf
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray, Vec3
from tools.bench.baselines.contact_scenes import ContactScene, bumps, flat_grid
from tools.bench.baselines.contacts import BareCopy

__all__ = ["CONTACT_ROWS", "RATES", "ContactRow", "Side"]

RATES = (60, 120, 240)
"""Steps per second."""
_GRAVITY = 9.81
_DOWN: Vec3 = (0.0, -_GRAVITY, 0.0)


class Side(Protocol):
    """A world with the bodies of a scene, ours or bare."""

    def step(self) -> None:
        """Advance by one step."""

    def position(self, node: int) -> FloatArray:
        """Of a body's centre of mass [m]."""

    def velocity(self, node: int) -> FloatArray:
        """Of a body's centre of mass [m/s]."""


class _Ours:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def step(self) -> None:
        self._scene.step()

    def position(self, node: int) -> FloatArray:
        return self._scene.world_from_node(node)[:3, 3]

    def velocity(self, node: int) -> FloatArray:
        return self._scene.bodies[node].linear_velocity


class _Bare:
    def __init__(self, copy: BareCopy) -> None:
        self._copy = copy

    def step(self) -> None:
        self._copy.step()

    def position(self, node: int) -> FloatArray:
        return np.array(self._copy.position(node))

    def velocity(self, node: int) -> FloatArray:
        return np.array(self._copy.velocity(node))


@contextmanager
def _side(data: bytes, rate: int, *, bare: bool) -> Iterator[Side]:
    """A +Y-up world of its own with the scene."""
    with headless_world(gravity=_DOWN, time_step=1.0 / rate) as client:
        scene = load_gltf(data, client, up_axis="y")
        if not bare:
            yield _Ours(scene)
            return
        plan = scene.core.world.plan
        with headless_world(gravity=_DOWN, time_step=1.0 / rate) as other:
            yield _Bare(BareCopy(other, plan))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRow:
    """One line of the table."""

    name: str
    what: str
    """With the unit."""
    formula: float
    measure: Callable[[int, bool], float]
    """Takes the rate [1/s] and whether bare PyBullet is measured."""


def _heavy_on_light(rate: int, bare: bool) -> float:
    """How far a box of 1 kg sinks below 100 kg within 0.5 s [mm]."""
    scene = ContactScene()
    scene.node(scene.shape("box", size=[4, 1, 4]), at=(0, -0.5, 0))
    light = scene.node(
        scene.shape("box", size=[0.4, 0.4, 0.4]), at=(0, 0.2, 0), motion={"mass": 1.0}
    )
    scene.node(scene.shape("box", size=[0.4, 0.4, 0.4]), at=(0, 0.6, 0), motion={"mass": 100.0})
    lowest = 0.0
    with _side(scene.bytes(), rate, bare=bare) as side:
        for _ in range(rate // 2):
            side.step()
            lowest = max(lowest, 0.2 - float(side.position(light)[1]))
    return 1e3 * lowest


def _deep_start(rate: int, bare: bool) -> float:
    """How high a box jumps that begins 100 mm deep in the ground [mm above its rest]."""
    scene = ContactScene()
    scene.node(scene.shape("box", size=[4, 1, 4]), at=(0, -0.5, 0))
    box = scene.node(scene.shape("box", size=[0.4, 0.4, 0.4]), at=(0, 0.1, 0), motion={"mass": 1.0})
    with _side(scene.bytes(), rate, bare=bare) as side:
        heights = []
        for _ in range(rate):
            side.step()
            heights.append(float(side.position(box)[1]))
    return 1e3 * max(0.0, max(heights) - 0.2)


SLIDE_SPEED, SLIDE_FRICTION = 8.0, 0.3


def _slide(kind: str) -> Callable[[int, bool], float]:
    def measure(rate: int, bare: bool) -> float:
        """Speed [m/s] of a slider 1 s after it started on a flat mesh of 1 m cells."""
        scene = ContactScene()
        rough, smooth = scene.material(SLIDE_FRICTION), scene.material(1.0)
        scene.node(scene.mesh(*flat_grid(20, 10.0)), material=smooth)
        geometry, half = scene.shape("box", size=[0.4, 0.4, 0.4]), 0.2
        if kind == "hull":
            turns = np.linspace(0.0, 2.0 * math.pi, 13)[:-1]
            ring = [(0.2 * math.cos(t), y, 0.2 * math.sin(t)) for t in turns for y in (-0.15, 0.15)]
            geometry, half = scene.mesh(np.array(ring), [(0, 1, 2)], hull=True), 0.15
        mover = scene.node(
            geometry, at=(-6.13, half, 0.137), material=rough,
            motion={"mass": 1.0, "linearVelocity": [SLIDE_SPEED, 0.0, 0.0]},
        )  # fmt: skip
        with _side(scene.bytes(), rate, bare=bare) as side:
            for _ in range(rate):
                side.step()
            return float(side.velocity(mover)[0])

    return measure


def _random_slides(ground: str, *, along_axes: bool) -> Callable[[int, bool], float]:
    def measure(rate: int, bare: bool) -> float:
        """Of 80 flat boxes and hulls that slide anyhow on a flat ground, how many stop 3 % off."""
        scene, spread = ContactScene(), np.random.default_rng(0)
        if ground == "mesh":
            scene.node(scene.mesh(*flat_grid(60, 30.0)), material=scene.material(1.0))
        else:
            large = scene.shape("box", size=[60, 1, 60])
            scene.node(large, at=(0, -0.5, 0), material=scene.material(1.0))
        rough = {friction: scene.material(friction) for friction in (0.2, 0.3, 0.6)}
        sliders = []
        for number in range(80):
            friction, speed = list(rough)[number % 3], spread.uniform(3.0, 9.0)
            yaw, course = spread.uniform(0.0, 2.0 * math.pi, 2)
            if along_axes:
                course = 0.5 * math.pi * int(course / (0.5 * math.pi))
            mover, start = _slider(scene, spread, rough[friction], speed, yaw, course)
            # What a step takes of the speed is gone during the whole step.
            way = speed**2 / (2.0 * friction * _GRAVITY) - 0.5 * speed / rate
            sliders.append((mover, start, way))
        with _side(scene.bytes(), rate, bare=bare) as side:
            for _ in range(5 * rate):
                side.step()
            ways = [(np.linalg.norm(side.position(m) - start), way) for m, start, way in sliders]
        return float(sum(abs(went / way - 1.0) > 0.03 for went, way in ways))

    return measure


def _slider(
    scene: ContactScene,
    spread: np.random.Generator,
    material: int,
    speed: float,
    yaw: float,
    course: float,
) -> tuple[int, FloatArray]:
    """A flat box or hull, turned by ``yaw``, that moves along ``course`` [rad]: node and place."""
    x, z = spread.uniform(0.1, 0.3, 2)
    half = 0.3 * min(x, z)
    geometry = scene.shape("box", size=[2.0 * x, 2.0 * half, 2.0 * z])
    if spread.integers(2):
        turns = np.linspace(0.0, 2.0 * math.pi, 13)[:-1]
        ring = [(x * math.cos(t), y, z * math.sin(t)) for t in turns for y in (-half, half)]
        geometry = scene.mesh(np.array(ring), [(0, 1, 2)], hull=True)
    at = (spread.uniform(-6.0, 6.0), half, spread.uniform(-6.0, 6.0))
    # Velocities are given in the node's own axes.
    own = course + yaw
    mover = scene.node(
        geometry, at=at, turned=(0.0, math.sin(0.5 * yaw), 0.0, math.cos(0.5 * yaw)),
        material=material, is_ghost=True,
        motion={
            "mass": 1.0,
            "linearVelocity": [speed * math.cos(own), 0.0, speed * math.sin(own)],
        },
    )  # fmt: skip
    return mover, np.array(at)


def _thrown(rate: int, bare: bool) -> float:
    """Of 120 bodies thrown on a bumpy mesh, how many are below it after 4 s."""
    scene = ContactScene()
    rough = scene.material(0.5)
    scene.node(scene.mesh(*bumps(24, 6.0, 0.3)), material=rough)
    shapes = [
        scene.shape("box", size=[0.2, 0.2, 0.2]),
        scene.shape("sphere", radius=0.1),
        scene.shape("box", size=[0.3, 0.06, 0.2]),
    ]
    spread = random.Random(3)  # noqa: S311  # a fixed throw, not a secret
    movers = [
        scene.node(
            shapes[number % 3],
            at=(spread.uniform(-4, 4), spread.uniform(1, 4), spread.uniform(-4, 4)),
            material=rough,
            motion={
                "mass": 1.0,
                "linearVelocity": [spread.uniform(-2, 2), spread.uniform(-12, -2), 0.0],
                "angularVelocity": [spread.uniform(-5, 5) for _ in range(3)],
            },
        )
        for number in range(120)
    ]
    with _side(scene.bytes(), rate, bare=bare) as side:
        for _ in range(4 * rate):
            side.step()
        places = np.array([side.position(node) for node in movers])
    inside = (np.abs(places[:, 0]) < 6.0) & (np.abs(places[:, 2]) < 6.0)
    return float((inside & (places[:, 1] < -0.5)).sum())


def _tiny(ground: str) -> Callable[[int, bool], float]:
    def measure(rate: int, bare: bool) -> float:
        """Of 16 balls of 1 mm dropped from 1 m, how many are below the ground after 8 s."""
        scene = ContactScene()
        if ground == "box":
            scene.node(scene.shape("box", size=[4, 0.1, 4]), at=(0, -0.05, 0))
        elif ground == "plane":
            scene.node(scene.shape("plane"))
        else:
            scene.node(scene.mesh(*flat_grid(8, 2.0)))
        ball = scene.shape("sphere", radius=5e-4)
        places = [(0.113 * (k % 4), 1.0, 0.107 * (k // 4)) for k in range(16)]
        balls = [scene.node(ball, at=place, motion={"mass": 1e-6}) for place in places]
        with _side(scene.bytes(), rate, bare=bare) as side:
            for _ in range(8 * rate):
                side.step()
            return float(sum(side.position(node)[1] < -1e-3 for node in balls))

    return measure


def _landing(rate: int, bare: bool) -> float:
    """Speed [m/s] up at most with which a box of no restitution leaves a mesh, from 2 m."""
    scene = ContactScene()
    scene.node(scene.mesh(*flat_grid(20, 4.0)))
    box = scene.node(
        scene.shape("box", size=[0.4, 0.4, 0.4]), at=(0.03, 2.2, 0.11), motion={"mass": 1.0}
    )
    fastest = 0.0
    with _side(scene.bytes(), rate, bare=bare) as side:
        for _ in range(rate):
            side.step()
            fastest = max(fastest, float(side.velocity(box)[1]))
    return fastest


CONTACT_ROWS = (
    ContactRow(name="heavy-on-light", what="1 kg below 100 kg sinks [mm]", formula=0.0,
               measure=_heavy_on_light),
    ContactRow(name="deep-start", what="100 mm deep in the ground: jump [mm]", formula=0.0,
               measure=_deep_start),
    ContactRow(name="slide-box", what="box at 8 m/s on a mesh, after 1 s [m/s]",
               formula=SLIDE_SPEED - SLIDE_FRICTION * _GRAVITY, measure=_slide("box")),
    ContactRow(name="slide-hull", what="hull at 8 m/s on a mesh, after 1 s [m/s]",
               formula=SLIDE_SPEED - SLIDE_FRICTION * _GRAVITY, measure=_slide("hull")),
    ContactRow(name="slides-on-mesh", what="of 80 at 3 to 9 m/s along axes, off by over 3 %",
               formula=0.0, measure=_random_slides("mesh", along_axes=True)),
    ContactRow(name="slides-anyhow", what="... along any course (see slides-on-box)",
               formula=0.0, measure=_random_slides("mesh", along_axes=False)),
    ContactRow(name="slides-on-box", what="... on one box: what the engine's friction makes off",
               formula=0.0, measure=_random_slides("box", along_axes=False)),
    ContactRow(name="landing", what="box from 2 m on a mesh, e = 0: leaves at [m/s]", formula=0.0,
               measure=_landing),
    ContactRow(name="thrown", what="of 120 thrown on a bumpy mesh, lost", formula=0.0,
               measure=_thrown),
    ContactRow(name="tiny-on-box", what="of 16 balls of 1 mm from 1 m, lost", formula=0.0,
               measure=_tiny("box")),
    ContactRow(name="tiny-on-plane", what="of 16 balls of 1 mm from 1 m, lost", formula=0.0,
               measure=_tiny("plane")),
    ContactRow(name="tiny-on-mesh", what="of 16 balls of 1 mm from 1 m, lost", formula=0.0,
               measure=_tiny("mesh")),
)  # fmt: skip
"""In the order of the table."""
