"""Files, robots, graphs and stages made wrong, in children with limits; the seed is in the failure.

``python -m tools.fuzz --seed SEED --only NUMBER`` runs one of them again, ``--hours 8`` goes on.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet import child_processes
from gltf_bullet.bullet.reading import robot_loading
from gltf_bullet.bullet.session import headless_world
from tests.trust.campaigns import run_apart
from tools.fuzz import seed_files
from tools.fuzzing.children import outcomes
from tools.fuzzing.mutations import Seeds, mutated
from tools.fuzzing.trial import Failure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")

RUNS = [("a", 50), *(pytest.param(seed, 125, marks=pytest.mark.slow) for seed in "ab")]
"""Seeds and how many inputs of each: the same on every run; ``tools/fuzz.py`` tries others."""
STAGES = pytest.param(
    "stages", marks=pytest.mark.skipif(not find_spec("pxr"), reason="needs usd-core")
)


@pytest.fixture(scope="module")
def seeds() -> Seeds:
    return Seeds(seed_files([]))


@pytest.mark.parametrize("kind", ["files", "robots", "graphs", STAGES])
@pytest.mark.parametrize(("seed", "count"), RUNS)
def test_no_mutated_example_breaks_a_promise(
    seed: str, count: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLTF_BULLET_CACHE", str(tmp_path))
    good, failed = run_apart(kind, seed, count)
    assert not failed, f"seed {seed}: {failed}"
    assert sum(good.values()) == count
    # Else the mutations would be too wild to get past the reader; MuJoCo's schema is strict.
    assert good["runs"] > count // (20 if kind == "robots" else 10)
    assert robot_loading.start is child_processes.start  # forks are for forks alone


def test_an_input_follows_from_its_seed(seeds: Seeds) -> None:
    assert mutated(seeds, "a/1") == mutated(seeds, "a/1")
    assert mutated(seeds, "a/1") != mutated(seeds, "a/2")


def test_a_child_that_dies_is_named_and_the_rest_go_on() -> None:
    def trial(number: int) -> str:
        if number == 1:
            os.abort()
        if number == 2:
            raise Failure("broken")
        if number == 4:
            raise KeyError("of the trial itself")
        if number == 5:
            while True:
                pass
        return "fine"

    found = list(outcomes(range(7), trial, 0.5))
    assert [number for number, _, _ in found] == list(range(7))
    assert [good for _, good, _ in found] == [True, False, False, True, False, False, True]
    texts = [text for _, _, text in found]
    assert texts[1] == "ended by SIGABRT"
    assert texts[2] == "broken"
    assert texts[4].startswith("KeyError")
    assert texts[5] == "no end within 0.5 s"


def test_a_world_with_a_body_that_is_nowhere_is_not_written(tmp_path: Path) -> None:
    """Numbers that JSON does not know came out as a ValueError of the writer."""
    with headless_world() as client:
        ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, 0.5, physicsClientId=client)
        body = pybullet.createMultiBody(1.0, ball, physicsClientId=client)
        pybullet.resetBaseVelocity(body, [float("nan"), 0, 0], physicsClientId=client)
        with pytest.raises(gb.InvalidAssetError) as caught:
            gb.export_world(tmp_path / "world.glb", client)
    [issue] = [issue for issue in caught.value.issues if issue.is_error]
    assert issue.code == "WORLD_NOT_FINITE"
    assert issue.pointer.endswith("/motion/linearVelocity")
    assert not list(tmp_path.iterdir())
