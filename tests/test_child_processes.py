"""No child process runs code that lies in the folder where somebody works."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import gltf_bullet
from gltf_bullet.bullet.reading.robot_loading import try_robot
from gltf_bullet.bullet.rendering.egl import egl_works
from gltf_bullet.child_processes import python_command, start
from gltf_bullet.convert.mjcf.compiling import compile_mjcf
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.planning.shapes.decomposition import run_worker

PLANTED: Final = (
    "coacd", "eglRenderer", "encodings", "gc", "gltf_bullet", "json", "llvmlite", "mujoco",
    "numba", "numpy", "os", "pybullet", "re", "resource", "runpy", "signal", "site",
    "sitecustomize", "types", "usercustomize", "zipfile",
)  # fmt: skip
URDF: Final = '<robot name="r"><link name="a"/></robot>'
MJCF: Final = '<mujoco><worldbody><body><geom size="1"/></body></worldbody></mujoco>'


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A marker that modules of the working directory write when they run."""
    marker = tmp_path / "ran"
    folder = tmp_path / "downloaded"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.syspath_prepend("")
    return marker


def test_a_child_with_a_plain_command_would_run_them(planted: Path) -> None:
    command = python_command("import pybullet")
    with start([command[0], "-c", "import pybullet"], folder=Path.cwd()) as child:
        child.communicate()
    assert planted.exists()


def test_robots_and_pictures_and_hulls_do_not(planted: Path) -> None:
    robot = planted.parent / "robot.urdf"
    robot.write_text(URDF)
    try_robot("loadURDF", robot, fixed_base=False, flags=0)
    egl_works.__wrapped__()
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float64)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    found = run_worker(
        corners, faces, threshold=0.1, max_parts=2, fine_search_parts=6, seconds=9.0, progress=id
    )
    assert found.parts
    assert not planted.exists()


def test_models_compiled_by_mujoco_do_not(planted: Path) -> None:
    if importlib.util.find_spec("mujoco") is None:
        pytest.skip("MuJoCo is not installed")
    model = planted.parent / "model.xml"
    model.write_text(MJCF)
    compile_mjcf(model, Diagnostics())
    assert not planted.exists()


def test_all_child_processes_are_started_in_one_place() -> None:
    root = Path(gltf_bullet.__file__).parent
    calls = re.compile(
        r"subprocess\.(Popen|run|call|check_\w+)\(|os\.(system|popen|exec\w+|spawn\w+)\("
    )
    found = {
        str(path.relative_to(root).as_posix())
        for path in root.rglob("*.py")
        if calls.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"child_processes.py"}
