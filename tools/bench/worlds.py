"""``python -m tools.bench worlds``: many scenes in one world against bare PyBullet."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import Vec3
from tools.bench.assets import bodies_gltf, cart_pole_gltf, grid
from tools.bench.baselines.worlds import bare_world
from tools.bench.rows import BenchRow, Measurement, milliseconds, ratio

__all__ = ["WORLD_ROWS"]

SCENES = 300
STEPS = 200
_PLACES: tuple[Vec3, ...] = tuple((4.0 * (k % 20), 4.0 * (k // 20), 0.0) for k in range(SCENES))
_ASSETS: dict[str, Callable[[], bytes]] = {
    "box": partial(bodies_gltf, "box", grid(1, 1.0)),
    "cart-pole": cart_pole_gltf,
}


def _ours(asset: Asset) -> tuple[float, float, float]:
    gc.collect()  # what the turn before has left behind is not this one's
    with headless_world() as client:
        scenes: list[Scene] = []

        def load() -> None:
            scenes.extend(asset.instantiate(client, position=place) for place in _PLACES)

        def run() -> None:
            for _ in range(STEPS):
                scenes[0].step()

        def remove() -> None:
            for scene in scenes:
                scene.remove()

        return milliseconds(load), milliseconds(run), milliseconds(remove)


def _theirs(kind: str) -> tuple[float, float, float]:
    gc.collect()
    with headless_world() as client, bare_world(client, kind) as bare:
        return (
            milliseconds(lambda: bare.load(_PLACES)),
            milliseconds(lambda: bare.steps(STEPS)),
            milliseconds(bare.remove),
        )


def _many(kind: str, part: int, repeats: int) -> Measurement:
    """300 scenes of one asset, each side in a world of its own, by turns."""
    asset = read_asset(_ASSETS[kind]())
    _ours(asset)
    pairs = [(_ours(asset)[part], _theirs(kind)[part]) for _ in range(repeats)]
    return ratio(*zip(*pairs, strict=True))


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
