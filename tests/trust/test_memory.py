"""Loading and removing grows the process no more than PyBullet itself making the same bodies.

PyBullet keeps about 0.9 KB of every body and link that it removes (measured), so the reference is
the very calls that a load makes, played again without us.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pybullet
import pytest

import gltf_bullet as gb

pytestmark = pytest.mark.soak

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "assets").glob("*.gltf"))
WARM_UP = 60
CYCLES = int(os.environ.get("GLTF_BULLET_CYCLES", "1200"))
"""Per example. In the first hundreds the engine's own bodies fill what its start has left free: a
pendulum grows by 0.5 KB in each of 300, and by 4.9 in each of 1500 (measured)."""
MAKERS = ("createMultiBody", "loadURDF")
MOST = 1.7
"""Times the reference: links of joints keep more once they moved (measured: ragdoll 1.2, bridge
1.6)."""
SLACK_KB = 4.0
"""Per cycle: what the allocator rounds, pages being what is measured."""


def resident_kb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024.0


def growth(cycle: Callable[[], None]) -> float:
    """[KB] per cycle, in the second half: what is kept once is not what grows."""
    for _ in range(WARM_UP):
        cycle()
    gc.collect()
    before = resident_kb()
    for _ in range(CYCLES):
        cycle()
    gc.collect()
    return (resident_kb() - before) / CYCLES


def measured(path: str, what: str) -> float:
    """Growth of this process [KB per cycle] by our loads, or by the engine's calls alone."""
    client = pybullet.connect(pybullet.DIRECT)
    asset = gb.read_asset(path)
    asset.instantiate(client).remove()
    if what == "ours":

        def ours() -> None:
            scene = asset.instantiate(client)
            scene.step(2)
            scene.remove()

        return growth(ours)
    calls: list[tuple[Callable[..., int], tuple[Any, ...], dict[str, Any]]] = []

    def recording(make: Callable[..., int]) -> Callable[..., int]:
        def made(*args: Any, **values: Any) -> int:
            calls.append((make, args, values))
            return make(*args, **values)

        return made

    originals = {name: getattr(pybullet, name) for name in MAKERS}
    for name, make in originals.items():
        setattr(pybullet, name, recording(make))
    scene = asset.instantiate(client)
    for name, make in originals.items():
        setattr(pybullet, name, make)
    scene.remove()

    def bare() -> None:
        for make, args, values in calls:
            make(*args, **values)
        for _ in range(2):
            pybullet.stepSimulation(client)
        while count := pybullet.getNumBodies(client):
            last = pybullet.getBodyUniqueId(count - 1, physicsClientId=client)
            pybullet.removeBody(last, physicsClientId=client)

    return growth(bare)


def in_a_process_of_its_own(path: Path, what: str) -> float:
    """Else what another test has freed hides what this one takes."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[3])\n"
        "from tests.trust.test_memory import measured\n"
        "print('KB', measured(sys.argv[1], sys.argv[2]))"
    )
    root = str(Path(__file__).resolve().parents[2])
    result = subprocess.run(
        [sys.executable, "-c", code, str(path), what, root],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(result.stdout.rsplit("KB", 1)[1])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_cycle_leaves_little_more_than_the_engine_leaves(path: Path) -> None:
    reference = in_a_process_of_its_own(path, "bare")
    mine = in_a_process_of_its_own(path, "ours")
    print(f"{path.stem}: {mine:.2f} KB per cycle, the engine alone {reference:.2f}")
    assert mine <= MOST * reference + SLACK_KB
