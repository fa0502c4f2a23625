"""MJCF compiled by MuJoCo, in a process that may end, hang or use up its memory without harm."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gltf_bullet.child_processes import python_command, start
from gltf_bullet.convert.issues import MJCF_NEEDS_MUJOCO, ROBOT_REFUSED
from gltf_bullet.convert.mjcf import program
from gltf_bullet.convert.mjcf.files import read_mjcf_text
from gltf_bullet.convert.mjcf.model import MjcfModel
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.private_folders import scratch_folder

_SECONDS: Final = 120
"""[s] Most processor time; the largest model that was tried (30 MB of meshes) takes 4."""
_MEMORY: Final = 6 << 30
"""[bytes] Most address space beyond that of libraries."""
_FAILED: Final = 3
"""Exit code of the program when MuJoCo raises."""
_LONGEST: Final = 400
"""Most characters of MuJoCo's message."""


def compile_mjcf(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics,
    allowed: Iterable[str | os.PathLike[str]] = (),
) -> MjcfModel:
    """Compile an MJCF file with the files that it includes and names.

    Args:
        path: The file.
        diagnostics: Receives the files that are missing or refused.
        allowed: Folders, besides its own and ROS packages, that it may name files in.

    Raises:
        ContainerError: MuJoCo is not installed, or does not take the file.
        OSError: It cannot be read.
    """
    text = read_mjcf_text(path, diagnostics, RobotFolders(Path(path), allowed))
    if importlib.util.find_spec("mujoco") is None:
        diagnostics.report(MJCF_NEEDS_MUJOCO, ROOT)
        raise ContainerError(str(path), diagnostics.issues)
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as name:
        folder = Path(name)
        source, target = folder / "model.xml", folder / "model.npz"
        text.write(source)
        why = _run(source, target)
        if why:
            diagnostics.report(ROBOT_REFUSED, ROOT, reader="MuJoCo", why=why)
            raise ContainerError(str(path), diagnostics.issues)
        return MjcfModel.load(target)


def _run(source: Path, target: Path) -> str:
    """Compile in a child process; returns the reason of a failure, or ``""``."""
    arguments = (str(source), str(target), str(_SECONDS), str(_MEMORY))
    command = python_command(Path(str(program.__file__)), *arguments)
    with start(command, folder=source.parent) as done:  # MuJoCo writes its log where it runs
        try:
            out, _ = done.communicate(timeout=2 * _SECONDS)
        except subprocess.TimeoutExpired:
            return f"it takes longer than {2 * _SECONDS} s"
        finally:
            done.kill()
    if done.returncode == 0:
        return ""
    said = " ".join(out.decode("utf-8", "replace").split())
    said = said.replace(f"{source.parent}{os.sep}", "")[-_LONGEST:]
    if done.returncode == _FAILED:
        return said or "it says no reason"
    return f"its process ends (exit code {done.returncode}) {said}".rstrip()
