"""A stage converted in a process that may end, hang or use up its memory without harm."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from gltf_bullet.child_processes import python_command, start
from gltf_bullet.convert import issues
from gltf_bullet.convert.issues import ROBOT_REFUSED, USD_NEEDS_USD_CORE
from gltf_bullet.convert.world_nodes import WorldNodes
from gltf_bullet.convert.writer import WorldFile
from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, JsonPointer
from gltf_bullet.dialects.khr import scene
from gltf_bullet.errors import ContainerError
from gltf_bullet.private_folders import scratch_folder

_SECONDS: Final = 4.0
"""[s] Processor time beside that for the size; the largest of 90 files of Newton takes 1."""
_MOST_SECONDS: Final = 600.0
"""[s] Most time on the wall, whatever the size is."""
_MEMORY: Final = 6 << 30
"""[bytes] Most address space."""
_LONGEST: Final = 400
"""Most characters of OpenUSD's message."""
_PROGRAM: Final = Path(__file__).with_name("program.py")
_KINDS: Final = {
    kind.code: kind
    for module in (issues, scene)
    for kind in vars(module).values()
    if isinstance(kind, IssueKind)
}
"""The kinds of issues that the program may report, by code."""


def convert_stage(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics,
    allowed: Iterable[str | os.PathLike[str]] = (),
) -> WorldFile:
    """Convert a stage with the layers that it names.

    Args:
        path: The file.
        diagnostics: Receives what is lost, and the files that are missing or refused.
        allowed: Folders, besides its own, that it may name files in.

    Raises:
        ContainerError: OpenUSD is not installed, or does not take the file.
        OSError: It cannot be read.
    """
    file = Path(path).absolute()
    with file.open("rb"):
        pass
    require_openusd(str(path), diagnostics)
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as name:
        folder = Path(name)
        request = folder / "request.json"
        request.write_text(
            json.dumps(
                {
                    "source": str(file),
                    "target": name,
                    "allowed": [str(Path(other).absolute()) for other in allowed],
                    "seconds": _SECONDS,
                    "memory": _MEMORY,
                }
            ),
            encoding="utf-8",
        )
        why = _run(request)
        told: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
        for entry in told.get("issues", ()):
            kind, pointer = _KINDS[entry["code"]], JsonPointer(entry["pointer"])
            diagnostics.report(kind, pointer, **entry["values"])
        why = str(told.get("why") or why)[-_LONGEST:]
        if why:
            diagnostics.report(ROBOT_REFUSED, ROOT, reader="OpenUSD", why=why)
            raise ContainerError(str(path), diagnostics.issues)
        root = json.loads((folder / "root.json").read_text(encoding="utf-8"))
        return WorldFile(root, (folder / "data.bin").read_bytes(), WorldNodes())


def require_openusd(path: str, diagnostics: Diagnostics) -> None:
    """Raise :class:`ContainerError` about a file if OpenUSD is not installed."""
    if importlib.util.find_spec("pxr") is None:
        diagnostics.report(USD_NEEDS_USD_CORE, ROOT)
        raise ContainerError(path, diagnostics.issues)


def _run(request: Path) -> str:
    """Run the child process; returns the reason of a failure, or ``""``."""
    with start(python_command(_PROGRAM, str(request)), folder=request.parent) as done:
        try:
            out, _ = done.communicate(timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it takes longer than {_MOST_SECONDS:g} s"
        finally:
            done.kill()
    if done.returncode == 0:
        return ""
    said = " ".join(out.decode("utf-8", "replace").split())[-_LONGEST:]
    if -done.returncode in (_CPU_SIGNAL, _ALARM_SIGNAL):
        return "reading it takes longer than its size allows"
    return f"its process ends (exit code {done.returncode}) {said}".rstrip()


_CPU_SIGNAL: Final = 24
_ALARM_SIGNAL: Final = 14
