"""Threads that load and step, each in a world of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
import pybullet
import gltf_bullet as gb

def run(client):
    scene = gb.load_gltf(sys.argv[1], client)
    scene.step(10)
    return scene.node_matrices.tobytes()

clients = [pybullet.connect(pybullet.DIRECT) for _ in range(4)]
with ThreadPoolExecutor(4) as threads:
    found = set(threads.map(run, clients))
sys.exit(0 if len(found) == 1 else 3)
"""


def test_threads_may_load_the_first_scenes_at_the_same_time() -> None:
    """In a process of its own, where nothing is loaded yet: it crashed."""
    asset = _ROOT / "examples" / "assets" / "ragdoll.gltf"
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, asset], cwd=_ROOT, check=False, timeout=300
        )
        assert done.returncode == 0
