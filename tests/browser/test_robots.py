"""Files of robots and worlds before other people's eyes: the official validator, and three.js."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from tests.browser.conftest import CHROMIUM
from tests.browser.test_three import NPM, served, shown_poses
from tests.cli.conftest import ASSETS, Run, run
from tests.convert.robots import DATA, ROBOTS
from tests.convert.test_worlds import WORLDS
from tests.figures import Figure
from tests.prepared_children import prepared_children

__all__ = ["prepared_children", "run", "served"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and NPM), reason="needs chromium and npm"),
]

SCRIPT = """
const validator = require('gltf-validator'), fs = require('fs');
(async () => {
  const found = {};
  for (const file of process.argv.slice(2)) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)));
    found[file] = report.issues.messages.filter(message => message.severity === 0);
    if (report.issues.truncated) found[file].push('more than could be listed');
  }
  console.log(JSON.stringify(found));
})();
"""


def files_of_commands(run: Run, folder: Path) -> list[Path]:
    """Every command that writes glTF, over robots and every example: convert and bake."""
    files: list[Path] = []

    def written(command: str, source: Path, suffix: str, *options: str) -> None:
        words = "_".join([command, *source.parts[-2:], *options]).replace("-", "")
        files.append(folder / f"{words}{suffix}")
        outcome = run(command, source, files[-1], *options)
        assert outcome.code == 0, outcome.err

    for robot in (*ROBOTS, "mjcf/ant.xml", "gripper/wsg50_one_motor_gripper.sdf"):
        for suffix in (".glb", ".gltf"):
            written("convert", DATA / robot, suffix)
    for asset in sorted(ASSETS.glob("*.gltf")):
        written("convert", asset, ".glb", "--to", "gltf-2.1")
        for suffix in (".glb", ".gltf"):
            written("convert", asset, suffix)
            written("bake", asset, suffix, "--seconds", "1")
    return files


def files_of_calls(folder: Path) -> list[Path]:
    """Of worlds: export_world, and what record_world and a scene export."""
    files: list[Path] = []
    for build in WORLDS:
        with headless_world() as client:
            built = build(client)
            recording = gb.record_world(client)
            recording.step(60)
            for suffix in (".glb", ".gltf"):
                files.append(folder / f"{build.__name__}{suffix}")
                gb.export_world(files[-1], client)
            files.append(folder / f"{build.__name__}_rollout.glb")
            recording.export_glb(files[-1])
            if isinstance(built, gb.Scene):
                files.append(folder / f"{build.__name__}_scene.glb")
                built.export_glb(files[-1])
    return files


def tuned_files(folder: Path) -> list[Path]:
    """Of every example: saved with masses and drives set, moved, and a joint of its own."""
    files: list[Path] = []
    for asset in sorted(ASSETS.glob("*.gltf")):
        with headless_world() as client:
            scene = gb.load_gltf(asset, client)
            for body in scene.bodies.values():
                if body.mass > 0.0 and math.isfinite(body.mass):
                    body.mass *= 1.5
            for joint in scene.joints.values():
                if joint.drives:
                    joint.set_gains(11.0, 0.5)
            scene.step(5)
            for suffix in (".glb", ".gltf"):
                files.append(folder / f"{asset.stem}_tuned{suffix}")
                scene.save(files[-1], velocities=True)
    return files


def test_the_official_validator_finds_no_error_in_any_file(
    run: Run, tmp_path: Path, figure: Figure
) -> None:
    files = [
        *files_of_commands(run, tmp_path), *files_of_calls(tmp_path), *tuned_files(tmp_path)
    ]  # fmt: skip
    assert len(set(files)) == len(files)
    (tmp_path / "package.json").write_text("{}")
    package = "gltf-validator@2.0.0-dev.3.10"
    subprocess.run(
        [str(NPM), "install", "--silent", "--no-audit", "--no-fund", package],
        cwd=tmp_path, check=True, timeout=300,
    )  # fmt: skip
    (tmp_path / "validate.cjs").write_text(SCRIPT)
    done = subprocess.run(
        [str(shutil.which("node")), "validate.cjs", *map(str, files)],
        cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = json.loads(done.stdout)
    figure("files that were checked", len(found), least=len(files))
    assert {file: errors for file, errors in found.items() if errors} == {}
    figure("errors in them", sum(map(len, found.values())), most=0)


def test_three_js_plays_a_recorded_world(
    served: tuple[Path, str], browser: Any, figure: Figure
) -> None:
    folder, address = served
    times = (0.0, 0.5, 1.0)
    expected: dict[float, np.ndarray] = {}
    with headless_world() as client:
        pybullet.loadURDF(str(DATA / "plane.urdf"), physicsClientId=client)
        arm = pybullet.loadURDF(
            str(DATA / "kuka_iiwa/model.urdf"), useFixedBase=True, physicsClientId=client
        )
        recording = gb.record_world(client, tolerance=1e-4)
        for step in range(241):
            if step / 240 in times:
                tip = pybullet.getLinkState(
                    arm, 6, computeForwardKinematics=1, physicsClientId=client
                )
                x, y, z = tip[4]
                expected[step / 240] = np.array([x, z, -y])  # +Z up to +Y up
            pybullet.setJointMotorControl2(
                arm, 1, pybullet.POSITION_CONTROL, 0.01 * step, physicsClientId=client
            )
            recording.step()
        recording.export_glb(folder / "scene.glb")
    _, shown = shown_poses(browser, address, times)
    apart = [
        np.linalg.norm(np.array(poses["lbr_iiwa_link_7"])[12:15] - expected[time])
        for time, poses in zip(times, shown, strict=True)
    ]
    figure("tip of the arm", np.max(apart), most=1e-3, unit="m")
