"""``python -m tools.bench drops``: limbs thrown on a floor, and what becomes of their energy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.cli.robots import read_source
from gltf_bullet.errors import EngineError
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.scene import Scene
from tools.bench.assets import without_static_parts
from tools.bench.baselines.joint_loops import add_floor, heights_of

__all__ = [
    "DROP_RATES",
    "DROP_ROWS",
    "MOST_GAIN",
    "MOST_SPEED",
    "DropRow",
    "Drops",
]

DROP_RATES = (30, 60, 120, 240)
"""Steps per second."""
_GRAVITY = 9.81
_HEIGHT = 1.5
"""[m] Between the floor and the bounds of the lowest one."""
_GAP = 0.1
"""[m] Between the bounds of one and the next: what begins inside of each other is thrown apart."""
_TRIAL = 100.0
"""[m] Height at which bounds are measured."""
_DURATION = 2.0
"""[s]"""
MOST_GAIN = 0.05
"""Share of its energy at the start that a drop may gain."""
MOST_SPEED = 4.0
"""Times the speed of the fall."""


@dataclass(slots=True)
class Drops:
    """What became of some drops."""

    count: int = 0
    exploded: int = 0
    """Not finite, or refused by the engine."""
    gained: int = 0
    """Energy above the start by more than MOST_GAIN."""
    sped: int = 0
    """Something faster than MOST_SPEED falls."""
    worst: float = 0.0
    """Largest energy over that at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRow:
    """One line of the table."""

    name: str
    asset: str
    together: int = 1
    """How many are dropped at once, one above the other."""
    scale: float = 1.0

    def measure(self, rate: int, seeds: Iterable[int]) -> Drops:
        """Drop one in a random pose for each seed, at a rate [1/s]."""
        asset = _read(self.asset)
        found = Drops()
        for seed in seeds:
            self._drop(asset, rate, np.random.default_rng(seed), found)
        return found

    def _drop(self, asset: Asset, rate: int, rng: np.random.Generator, found: Drops) -> None:
        found.count += 1
        with headless_world(time_step=1.0 / rate) as client:
            add_floor(client)
            scenes, top = [], _HEIGHT - _GAP
            for _ in range(self.together):
                make = partial(
                    asset.instantiate,
                    client,
                    orientation=tuple(Rotation.random(random_state=rng).as_quat().tolist()),
                    scale=self.scale,
                    options=LoadOptions(visuals="none"),
                )
                x, y = rng.uniform(-0.2, 0.2, 2).tolist()
                trial = make(position=(x, y, _TRIAL))
                lowest, highest = heights_of(client, trial.core.world.body_ids)
                trial.remove()
                height = _TRIAL + top + _GAP - lowest
                scenes.append(make(position=(x, y, height)))
                top = highest + height - _TRIAL
            for scene in scenes:
                scene.core.disable_reset()
            start, speed = _energy_and_speed(scenes)
            fall = math.sqrt(2.0 * _GRAVITY * top)
            most, fastest = start, speed
            try:
                for _ in range(int(_DURATION * rate)):
                    scenes[0].step()
                    energy, speed = _energy_and_speed(scenes)
                    most, fastest = max(most, energy), max(fastest, speed)
                    if not math.isfinite(energy + speed):
                        raise EngineError("not finite")
            except EngineError:
                found.exploded += 1
                return
        found.worst = max(found.worst, most / start)
        found.gained += most > (1.0 + MOST_GAIN) * start
        found.sped += fastest > MOST_SPEED * fall


def _read(name: str) -> Asset:
    """An example, or a robot among PyBullet's own data."""
    if not name.endswith(".urdf"):
        return read_asset(without_static_parts(name))
    found = find_spec("pybullet_data")
    places = (found.submodule_search_locations if found else None) or []
    return read_source(Path(places[0]) / name)


def _energy_and_speed(scenes: list[Scene]) -> tuple[float, float]:
    """Kinetic and potential energy [J] of jointed bodies above z = 0; the fastest [m/s]."""
    total, fastest = 0.0, 0.0
    for scene in scenes:
        for articulation in scene.core.world.articulations.articulations:
            states = articulation.read()
            squares = (states.linear_velocity**2).sum(axis=1)
            spin = states.angular_velocity
            turning = np.einsum("fi,fij,fj->", spin, states.inertia_in_world, spin)
            total += 0.5 * float((states.masses * squares).sum() + turning)
            total += _GRAVITY * float((states.masses * states.com[:, 2]).sum())
            fastest = max(fastest, math.sqrt(float(squares.max())))
    return total, fastest


DROP_ROWS = (
    DropRow(name="ragdoll", asset="ragdoll"),
    DropRow(name="vehicle", asset="vehicle"),
    DropRow(name="walker", asset="walker"),
    DropRow(name="humanoid", asset="humanoid/humanoid.urdf", scale=0.25),
    DropRow(name="ragdoll-pairs", asset="ragdoll", together=2),
    DropRow(name="ragdoll-heaps", asset="ragdoll", together=5),
)
"""In the order of the table."""
