"""Files of robots and worlds before other people's eyes: the official validator, and three.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from tests.browser.conftest import CHROMIUM
from tests.browser.test_three import NPM, served, shown_poses
from tests.convert.robots import DATA, ROBOTS
from tests.convert.test_worlds import WORLDS

__all__ = ["served"]

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
  }
  console.log(JSON.stringify(found));
})();
"""


def test_the_official_validator_finds_no_error_in_any_file(tmp_path: Path) -> None:
    files = []
    for robot in ROBOTS:
        files.append(tmp_path / f"{robot.replace('/', '_')}.glb")
        robot_file(DATA / robot, Diagnostics())[0].write(files[-1])
    for build in WORLDS:
        with headless_world() as client:
            build(client)
            recording = gb.record_world(client)
            recording.step(60)
            for suffix in (".glb", ".gltf"):
                files.append(tmp_path / f"{build.__name__}{suffix}")
                gb.export_world(files[-1], client)
            files.append(tmp_path / f"{build.__name__}_rollout.glb")
            recording.export_glb(files[-1])
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
    assert len(found) == len(files)
    assert {file: errors for file, errors in found.items() if errors} == {}


def test_three_js_plays_a_recorded_world(served: tuple[Path, str], browser: Any) -> None:
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
    for time, poses in zip(times, shown, strict=True):
        found = np.array(poses["lbr_iiwa_link_7"]).reshape(4, 4).T[:3, 3]
        assert np.abs(found - expected[time]).max() < 2e-3
