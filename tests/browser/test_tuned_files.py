"""A file that was tuned and saved, in three.js: it looks as before, since only physics was set."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.model.pointers import pointers_of
from tests.browser.conftest import CHROMIUM, until
from tests.browser.test_three import NPM, served

__all__ = ["served"]

EXAMPLES = Path(__file__).parents[2] / "examples" / "assets"
SHARED = Path(__file__).parents[3] / "shared" / "assets"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and NPM), reason="needs chromium and npm"),
]


def tune(scene: gb.Scene) -> int:
    """Make every positive number of the physics, and every size, a tenth smaller; their count."""
    count = 0
    for pointer in pointers_of(scene.core.model.at_load):
        value = scene.get(pointer)
        is_number = isinstance(value, float) and 0.0 < value < math.inf
        if is_number or pointer.endswith(("/size", "/centerOfMass")):
            parts = [value] if is_number else value
            scaled = [0.9 * part for part in parts]
            scene.set(pointer, scaled[0] if is_number else scaled)
            count += 1
    return count


def shown_nodes(browser: Any, address: str, file: str) -> list[dict[str, Any]]:
    """All objects that three.js makes of a file: names, matrices, checksums of meshes, colours."""
    page = browser.new_page()
    page.goto(f"{address}?times=0&file=/{file}")
    assert until(page.title, "the picture, or why there is none", page) == "drawn"
    nodes: list[dict[str, Any]] = json.loads(page.inner_text("#nodes"))
    page.close()
    return nodes


def opens_as_before(path: Path, suffix: str, served: tuple[Path, str], browser: Any) -> None:
    """Tune and save a file, and open both."""
    folder, address = served
    (folder / "original").unlink(missing_ok=True)
    (folder / "original").symlink_to(path.parent, target_is_directory=True)
    with headless_world() as client:
        scene = gb.load_gltf(path, client)
        assert tune(scene) > 0
        scene.step(5)
        scene.save(folder / f"tuned{suffix}", force=True)
    before = shown_nodes(browser, address, f"original/{path.name}")
    after = shown_nodes(browser, address, f"tuned{suffix}")
    assert len(before) > 1
    assert after == before


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
@pytest.mark.parametrize("name", ["six_axis_arm", "vehicle", "toy_blocks", "kinematic_platform"])
def test_a_tuned_example_opens_as_before(
    name: str, suffix: str, served: tuple[Path, str], browser: Any
) -> None:
    opens_as_before(EXAMPLES / f"{name}.gltf", suffix, served, browser)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the asset collection is not there")
@pytest.mark.parametrize(
    "name",
    [
        "khr_current/MotionProperties/MotionProperties.gltf",
        "khr_current/WaterWheel/WaterWheel.gltf",
        "khr_tests/RigidBodies_Joint/RigidBodies_Joint_10.gltf",
        "khr_implicit_shapes_node/ShapeTypes.glb",
        "khr_collision_shapes/rev2024_07/ShapeTypes/ShapeTypes.gltf",
        "khr_collision_shapes/rev2024_02/compound_trigger/compound_trigger.gltf",
        "msft/rigid_bodies/ShapeTypes/ShapeTypes.gltf",
        "omi/joint/slider_ball.gltf",
        "omi/body/complex/two_boxes.gltf",
        "omi_collider/capsule_collider.gltf",
    ],
)
def test_a_tuned_file_of_any_dialect_opens_as_before(
    name: str, served: tuple[Path, str], browser: Any
) -> None:
    opens_as_before(SHARED / name, ".gltf", served, browser)
