"""``bench worlds`` and ``bench robots``: many scenes in one world, and robots, against loadURDF."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from functools import partial

from gltf_bullet.bullet.baselines.worlds import bare_world, robot_file, robot_loads
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.cli.benches.assets import bodies_gltf, cart_pole_gltf, grid
from gltf_bullet.cli.benches.rows import BenchRow, Measurement
from gltf_bullet.cli.robots import read_source
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.scene_batch import SceneBatch
from gltf_bullet.transforms import Vec3

__all__ = ["ROBOT_ROWS", "WORLD_ROWS"]

SCENES = 300
STEPS = 50
_PLACES: tuple[Vec3, ...] = tuple((4.0 * (k % 20), 4.0 * (k // 20), 0.0) for k in range(SCENES))
_COPIES = 5
_ASSETS: dict[str, Callable[[], bytes]] = {
    "box": partial(bodies_gltf, "box", grid(1, 1.0)),
    "cart-pole": cart_pole_gltf,
}


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _ours(asset: Asset) -> tuple[float, float, float]:
    with headless_world() as client:
        scenes: list[Scene] = []

        def load() -> None:
            scenes.extend(asset.instantiate(client, position=place) for place in _PLACES)

        def run() -> None:
            batch = SceneBatch([scene.core for scene in scenes])
            for _ in range(STEPS):
                batch.step()

        def remove() -> None:
            for scene in scenes:
                scene.remove()

        return _seconds(load), _seconds(run), _seconds(remove)


def _theirs(kind: str) -> tuple[float, float, float]:
    with headless_world() as client, bare_world(client, kind) as bare:
        return (
            _seconds(lambda: bare.load(_PLACES)),
            _seconds(lambda: bare.steps(STEPS)),
            _seconds(bare.remove),
        )


def _many(kind: str, part: int, repeats: int) -> Measurement:
    """300 scenes of one asset, each side in a world of its own, by turns."""
    asset = read_asset(_ASSETS[kind]())
    _ours(asset)
    pairs = [(_ours(asset)[part], _theirs(kind)[part]) for _ in range(repeats)]
    return _ratio(*zip(*pairs, strict=True))


def _ratio(ours: Iterable[float], theirs: Iterable[float]) -> Measurement:
    a, b = 1e3 * statistics.median(ours), 1e3 * statistics.median(theirs)
    return Measurement(ours=a, theirs=b, unit="ms", value=a / b)


def _further(robot: str, repeats: int) -> Measurement:
    """A further copy of a converted robot against ``loadURDF`` of it, by turns in one world."""
    source = robot_file(robot)
    asset = read_source(source)
    with headless_world() as client:
        load = robot_loads(client, source)
        asset.instantiate(client, position=(0.0, 5.0, 0.0))
        load((0.0, 0.0, 0.0))
        ours, theirs = [], []
        for k in range(1, 1 + repeats * _COPIES):
            theirs.append(_seconds(partial(load, (4.0 * k, 0.0, 0.0))))
            place = (4.0 * k, 5.0, 0.0)
            ours.append(_seconds(partial(asset.instantiate, client, position=place)))
    return _ratio(ours, theirs)


WORLD_ROWS = tuple(
    BenchRow(
        name=f"{SCENES}-{kind}-{part}",
        what=f"{SCENES} scenes of one {kind}: {part} / bare PyBullet",
        goal=3.0,
        measure=partial(_many, kind, number),
    )
    for kind in _ASSETS
    for number, part in enumerate(("load", "step", "remove"))
)
"""Many scenes in one world."""

ROBOT_ROWS = tuple(
    BenchRow(
        name=robot.rpartition("/")[2],
        what="a further copy / loadURDF",
        goal=1.0,
        measure=partial(_further, robot),
    )
    for robot in (
        "kuka_iiwa/model", "franka_panda/panda", "xarm/xarm6_robot", "laikago/laikago_toes",
        "a1/a1", "quadruped/minitaur", "husky/husky", "racecar/racecar", "r2d2",
        "humanoid/humanoid", "cartpole",
    )
)  # fmt: skip
"""Robots that ``pybullet_data`` ships."""
