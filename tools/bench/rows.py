"""What ``python -m tools.bench`` measures: each row is a ratio of two medians, A and B by turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.asset import load_gltf, read_asset
from gltf_bullet.runtime.scene import Scene
from tools.bench.assets import bodies_gltf, grid, pile
from tools.bench.baselines.loading import load_urdfs, urdf_file
from tools.bench.memory import measure_growth

__all__ = ["ROWS", "BenchRow", "Measurement", "milliseconds", "ratio"]

ONE_BY_ONE = LoadOptions(batch_size=10**9)
"""No group of equal bodies is ever large enough to be created in one call."""
COUNT = 1000
"""Bodies per load: the number of DESIGN section 8."""

MESH_BODIES = 11
"""Bodies of one mesh in the row about memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Two medians and what they are compared by."""

    ours: float
    theirs: float
    unit: str
    value: float
    """What the goal is about: the ratio, or a difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """One line of the table."""

    name: str
    what: str
    goal: float
    """The largest good value (DESIGN section 8)."""
    measure: Callable[[int], Measurement]
    """Takes the number of repeats."""


def milliseconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> Measurement:
    """Both sides' milliseconds compared."""
    a, b = statistics.median(ours), statistics.median(theirs)
    return Measurement(ours=a, theirs=b, unit="ms", value=a / b)


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    return milliseconds(work)


def _load(shape: str, options: LoadOptions) -> Callable[[int], Measurement]:
    positions = grid(COUNT, 1.0)
    return partial(
        _against_urdf,
        shape,
        lambda: partial(load_gltf, bodies_gltf(shape, positions), options=options),
    )


def _instances(shape: str) -> Callable[[int], Measurement]:
    positions = grid(COUNT, 1.0)
    return partial(
        _against_urdf, shape, lambda: read_asset(bodies_gltf(shape, positions)).instantiate
    )


def _against_urdf(
    shape: str, prepare: Callable[[], Callable[[int], object]], repeats: int
) -> Measurement:
    """Loading into a fresh world against ``loadURDF`` for each body."""
    positions = grid(COUNT, 1.0)
    load = prepare()
    ours, theirs = [], []
    with urdf_file(shape) as path:
        for _ in range(repeats):
            with headless_world() as client:
                ours.append(_timed(partial(load, client)))
            with headless_world() as client:
                theirs.append(_timed(partial(load_urdfs, client, path, positions)))
    return ratio(ours, theirs)


def _whole_load(repeats: int) -> Measurement:
    import pygltflib

    ours, theirs = [], []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "boxes.gltf"
        # 500 bodies are 1000 nodes.
        path.write_bytes(bodies_gltf("box", grid(COUNT // 2, 1.0)))
        for _ in range(repeats):
            with headless_world() as client:
                ours.append(_timed(partial(load_gltf, path, client)))
            theirs.append(_timed(partial(pygltflib.GLTF2().load, str(path))))
    return ratio(ours, theirs)


def _steps(
    data: bytes, settle: int, chunk: int, *, at_once: bool = False
) -> Callable[[int], Measurement]:
    """Steps one by one, as a control loop makes them, or ``scene.step(chunk)``."""

    def measure(repeats: int) -> Measurement:
        with headless_world() as client:
            scene = load_gltf(data, client)
            for _ in range(settle):
                scene.step()
            ours, theirs = zip(*_step_pairs(scene, repeats, chunk, at_once), strict=True)
        return ratio(list(ours), list(theirs))

    return measure


def _step_pairs(
    scene: Scene, repeats: int, chunk: int, at_once: bool
) -> Iterator[tuple[float, float]]:
    """Milliseconds per step of ours and of theirs, in the same world by turns."""

    def bare() -> None:
        for _ in range(chunk):
            scene.core.session.step()

    def ours() -> None:
        for _ in range(1 if at_once else chunk):
            scene.step(chunk if at_once else 1)

    for _ in range(4 * repeats):
        theirs = _timed(bare) / chunk
        yield _timed(ours) / chunk, theirs


def _memory(repeats: int) -> Measurement:
    """Memory per load/remove cycle beyond what Bullet keeps for as many bodies [KB]."""
    cycles = 100 * repeats
    ours, theirs = (growth.heap_kb / cycles for growth in measure_growth(MESH_BODIES, cycles))
    return Measurement(ours=ours, theirs=theirs, unit="KB/cycle", value=ours - theirs)


ROWS = tuple(
    BenchRow(name=name, what=what, goal=goal, measure=measure)
    for name, what, goal, measure in (
        ("load-boxes", "load_gltf 1000 boxes one by one / loadURDF x 1000", 1.3,
         _load("box", ONE_BY_ONE)),
        ("load-boxes-batched", "load_gltf 1000 boxes / loadURDF x 1000", 1.3,
         _load("box", LoadOptions())),
        ("instance-boxes", "Asset.instantiate 1000 boxes / loadURDF x 1000", 0.4,
         _instances("box")),
        ("load-spheres", "load_gltf 1000 spheres one by one / loadURDF x 1000", 0.5,
         _load("sphere", ONE_BY_ONE)),
        ("load-spheres-batched", "load_gltf 1000 spheres / loadURDF x 1000", 0.5,
         _load("sphere", LoadOptions())),
        ("load-parse", "load_gltf 1000 nodes / pygltflib's parse of that file", 0.35, _whole_load),
        ("step-resting", "scene.step / stepSimulation, 1000 resting boxes", 1.35,
         _steps(bodies_gltf("box", grid(COUNT, 0.1), floor=True), 120, 10)),
        ("step-pile", "scene.step / stepSimulation, pile of 500 boxes", 1.15,
         _steps(bodies_gltf("box", pile(500), floor=True), 240, 5)),
        ("step-falling", "scene.step / stepSimulation, 1000 boxes in free fall", 3.6,
         _steps(bodies_gltf("box", grid(COUNT, 1000.0)), 10, 20)),
        ("step-ahead", "scene.step(20) / 20 x stepSimulation, 1000 boxes in free fall", 1.5,
         _steps(bodies_gltf("box", grid(COUNT, 1000.0)), 10, 20, at_once=True)),
        ("step-fast", "scene.step / stepSimulation, 1000 boxes that fall at 35 m/s", 16.0,
         _steps(bodies_gltf("box", grid(COUNT, 1000.0)), 900, 5)),
        ("memory", "heap per load/remove of 11 bodies with meshes, minus bare PyBullet's", 1.0,
         _memory),
    )
)  # fmt: skip
"""In the order of the table."""
