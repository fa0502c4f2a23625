"""Where neither the package has kernels that fit nor the machine anything that compiles them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.modules.update(numba=None, llvmlite=None)
from pathlib import Path
import gltf_bullet.solver
from gltf_bullet.numba_aot import library
library.configure(library.project()._replace(libraries=Path("nowhere")))
from gltf_bullet.cli import main
sys.argv = ["gltf-bullet", *sys.argv[1:]]
main()
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
    )


def issues_of(path: Path) -> dict[str, str]:
    done = run("simulate", str(path), "--seconds", "0.05", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") :])["issues"]
    return {issue["code"]: issue["message"] for issue in found}


def test_a_file_with_joints_runs_and_says_how_slow(assets: Path) -> None:
    issues = issues_of(assets / "ragdoll.gltf")
    assert list(issues) == ["SOLVER_NOT_COMPILED"]
    assert "300 to 900 times as long" in issues["SOLVER_NOT_COMPILED"]
    assert "pip install 'gltf_bullet[jit]'" in issues["SOLVER_NOT_COMPILED"]


def test_a_file_without_joints_does_not_miss_it(assets: Path) -> None:
    assert "SOLVER_NOT_COMPILED" not in issues_of(assets / "falling_box.gltf")


def test_the_version_says_so() -> None:
    assert "joint solver: plain Python" in run("--version").stdout
