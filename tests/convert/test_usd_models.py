"""Models of others: MuJoCo's through its converter to USD, and the assets of Newton's package.

The stages in ``usd_models`` were made of the models beside them by mujoco-usd-converter 0.8.0 and
flattened. ``newton_numbers.json`` is what Newton 1.8.0 reads of its own assets.
"""

from __future__ import annotations

import importlib.util
import json
import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.convert.issues import ROBOT_REFUSED
from gltf_bullet.convert.usd.process import convert_stage
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.model import MotionKind
from gltf_bullet.runtime.world_export import robot_file, write_usd
from tests.convert.usd_stages import inertia_of

pytest.importorskip("pxr")

HERE = Path(__file__).parent
MODELS = sorted(path.stem for path in (HERE / "usd_models").glob("*.xml"))
NUMBERS: dict[str, Any] = json.loads((HERE / "newton_numbers.json").read_text())
PROBES = np.array([[0, 0, 0, 1], [0.3, 0, 0, 1], [0, 0.3, 0, 1], [0, 0, 0.3, 1]], dtype=float).T
"""Points of a body that show its turn, too [m]."""


def motions_by_name(asset: gb.Asset) -> dict[str, int]:
    return {asset.tree.names[node]: node for node in asset.physics.motions}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_mujoco_move_as_by_the_direct_way(name: str) -> None:
    """Within 1.2 times the error of our own reader of MJCF, to MuJoCo after 1 s."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(str(HERE / "usd_models" / f"{name}.xml"))
    data = mujoco.MjData(model)
    while data.time < 1.0 - 1e-9:
        mujoco.mj_step(model, data)
    errors = []
    for suffix in (".xml", ".usda"):
        asset = robot_file(HERE / "usd_models" / f"{name}{suffix}", Diagnostics())[1]
        client = pybullet.connect(pybullet.DIRECT)
        scene = asset.instantiate(client)
        scene.step(240)
        nodes = motions_by_name(asset)
        found = []
        for body in range(1, model.nbody):
            theirs = np.eye(4)
            theirs[:3, :3] = data.xmat[body].reshape(3, 3)
            theirs[:3, 3] = data.xpos[body]
            ours = scene.world_from_node(nodes[model.body(body).name])
            found.append(np.linalg.norm(((ours - theirs) @ PROBES)[:3], axis=0).max())
        errors.append(max(found))
        pybullet.disconnect(client)
    assert errors[1] <= 1.2 * errors[0]
    assert errors[0] < 0.05


# --- Newton's assets ------------------------------------------------------------------------------


@cache
def newton_folder() -> Path | None:
    found = importlib.util.find_spec("newton")
    places = None if found is None else found.submodule_search_locations
    return None if not places else Path(next(iter(places)))


@pytest.mark.parametrize("name", NUMBERS)
def test_assets_of_newton_have_its_numbers(name: str) -> None:
    """Masses, centres, inertias, limits and gains; those are single precision."""
    folder = newton_folder()
    if folder is None or not (folder / name).is_file():
        pytest.skip(f"{name} of newton 1.8.0 is not installed")
    asset = gb.read_asset(folder / name)
    nodes = motions_by_name(asset)
    for path, (mass, center, tensor) in NUMBERS[name]["bodies"].items():
        motion = asset.physics.motions[_by_path(nodes, path)]
        if motion.kind is MotionKind.KINEMATIC:
            continue  # it has no mass in glTF
        assert motion.mass == pytest.approx(mass, rel=1e-6)
        assert motion.center_of_mass == pytest.approx(center, abs=1e-7)
        ours = inertia_of(motion)
        assert ours == pytest.approx(np.array(tensor), abs=2e-6 * float(np.max(tensor)))
    joints = {asset.tree.names[node]: node for node in asset.physics.joints}
    for path, (low, high, stiffness) in NUMBERS[name]["joints"].items():
        description = asset.physics.joints[_by_path(joints, path)].description
        bounds = [
            (limit.minimum, limit.maximum)
            for limit in description.limits
            if len(limit.axes) == 1 and (limit.minimum, limit.maximum) != (0.0, 0.0)
        ] or [(-math.inf, math.inf)]
        assert bounds[0] == pytest.approx(
            (-math.inf if low is None else low, math.inf if high is None else high), abs=1e-6
        )
        assert sum(d.stiffness for d in description.drives) == pytest.approx(stiffness, rel=1e-5)
    client = pybullet.connect(pybullet.DIRECT)
    scene = asset.instantiate(client)
    scene.step(10)
    assert np.isfinite(scene.node_matrices).all()
    pybullet.disconnect(client)


OTHERS = {
    "examples/assets/bear.usd": True,
    "examples/assets/bunny.usd": True,
    "examples/assets/crazyflie.usd": True,
    "examples/assets/curvedSurface.usd": True,
    "examples/assets/mpm_sand.usda": False,
    "examples/assets/rj45_plug.usd": True,
    "examples/assets/unisex_shirt.usd": True,
    "tests/assets/ant_multi.usda": True,
    "tests/assets/cube_cylinder.usda": True,
    "tests/assets/deformables_mixed.usda": True,
    "tests/assets/mpm_material_subsets.usda": False,
    "tests/assets/mpm_two_prims.usda": False,
    "tests/assets/simple_articulation_with_mesh.usda": True,
    "tests/assets/tetmesh_custom_attrs.usda": False,
    "tests/assets/tetmesh_multi.usda": True,
    "tests/assets/tetmesh_simple.usda": False,
    "tests/assets/tetmesh_with_legacy_material.usda": False,
    "tests/assets/tetmesh_with_material.usda": False,
}
"""Newton's other assets, and whether they hold anything that moves, collides or is drawn."""


@pytest.mark.parametrize("name", OTHERS)
def test_other_assets_of_newton_convert_or_are_refused_by_name(name: str) -> None:
    folder = newton_folder()
    if folder is None or not (folder / name).is_file():
        pytest.skip(f"{name} of newton 1.8.0 is not installed")
    diagnostics = Diagnostics()
    if OTHERS[name]:
        assert convert_stage(folder / name, diagnostics).root["nodes"]
        return
    with pytest.raises(ContainerError):
        convert_stage(folder / name, diagnostics)
    assert "no rigid body, no collider and nothing that is drawn" in diagnostics.take(
        ROBOT_REFUSED
    ).message  # fmt: skip


EXAMPLES = sorted((HERE.parents[1] / "examples" / "assets").glob("*.gltf"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_newton_reads_written_stages_without_a_warning(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("warp")  # Newton is imported with it alone
    newton = pytest.importorskip("newton")
    asset = gb.read_asset(path)
    write_usd(asset, tmp_path / "out.usda", Diagnostics())
    builder = newton.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.add_usd(str(tmp_path / "out.usda"))
    assert len(builder.body_mass) == len(asset.physics.motions)
    back = gb.read_asset(tmp_path / "out.usda")
    ours = sum(m.mass or 0.0 for m in back.physics.motions.values())
    kinematic = any(m.kind is MotionKind.KINEMATIC for m in back.physics.motions.values())
    if not kinematic:  # Newton gives those a mass
        assert sum(builder.body_mass) == pytest.approx(ours, rel=1e-6)


def _by_path(nodes: dict[str, int], path: str) -> int:
    """The node that is named as the end of a path."""
    (found,) = [node for name, node in nodes.items() if f"/{path}".endswith(f"/{name}")]
    return found
