"""PyBullet's EGL renderer: OpenGL without a display, in clients that we open ourselves.

If EGL cannot start, the plugin ends the whole process, so a child process tries first. The plugin
crashes on meshes from memory (measured), so it needs scenes with ``visual_files=True``. It stays
loaded until its client disconnects.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pybullet

from gltf_bullet.child_processes import python_command, start
from gltf_bullet.errors import EngineError

_TRIAL = """
import pybullet as p
client = p.connect(p.DIRECT)
if p.loadPlugin(sys.argv[1], "_eglRendererPlugin") < 0:
    sys.exit(1)
shape = p.createVisualShape(p.GEOM_BOX, halfExtents=[1, 1, 1], rgbaColor=[1, 0, 0, 1])
p.createMultiBody(baseVisualShapeIndex=shape)
view = p.computeViewMatrix([5, 0, 0], [0, 0, 0], [0, 0, 1])
lens = p.computeProjectionMatrixFOV(60, 1, 0.1, 10)
seen = p.getCameraImage(16, 16, view, lens, renderer=p.ER_BULLET_HARDWARE_OPENGL)
sys.exit(0 if 0 in list(seen[4].ravel() if hasattr(seen[4], "ravel") else seen[4]) else 1)
"""


def _plugin_path() -> str | None:
    found = importlib.util.find_spec("eglRenderer")
    return None if found is None else found.origin


@functools.cache
def egl_works() -> bool:
    """Return True if EGL draws on this machine; tried once per process, in half a second."""
    path = _plugin_path()
    if path is None:
        return False
    try:
        with start(python_command(_TRIAL, path)) as trial:
            try:
                trial.communicate(timeout=60.0)
            finally:
                trial.kill()
    except (OSError, subprocess.TimeoutExpired):
        return False
    return trial.returncode == 0


def load_egl(client_id: int) -> None:
    """Make a client of ours draw by EGL; call it before the client has any body.

    Raises:
        EngineError: PyBullet refused. Call :func:`egl_works` first: this may end the process.
    """
    path = _plugin_path()
    plugin = -1
    if path is not None:
        plugin = pybullet.loadPlugin(path, "_eglRendererPlugin", physicsClientId=client_id)
    if plugin < 0:
        raise EngineError("the EGL renderer did not load")
    # Its first two pictures have no shadows, all others do (measured).
    for _ in range(3):
        pybullet.getCameraImage(
            16, 16, renderer=pybullet.ER_BULLET_HARDWARE_OPENGL, physicsClientId=client_id
        )


@contextmanager
def driver_talk_aside() -> Iterator[None]:
    """Send what C code prints to the standard error, because the standard output may be JSON.

    The plugin prints about the driver until its client is gone. Python's own output is unchanged.
    """
    stdout = sys.stdout
    stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        is_real = stdout.fileno() == 1
    except (OSError, ValueError):
        is_real = False  # Captured, by tests or notebooks.
    if is_real:
        sys.stdout = os.fdopen(os.dup(kept), "w", encoding=stdout.encoding)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        if is_real:
            sys.stdout.close()
            sys.stdout = stdout
