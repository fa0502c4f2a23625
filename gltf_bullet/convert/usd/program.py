"""The child process that reads a stage: ``python program.py REQUEST``.

OpenUSD is C++ that may end the process, hang on broken files or use up memory; none of that
reaches the caller. The output is a binary glTF and JSON, no code.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Final

_FAILED: Final = 3
_SAID: Final = re.compile(r"Error in '.*?' at line \d+ in file \S+ : '(.*?)\s*'(?= Error in |$)")
"""The message in an exception of OpenUSD, without the place in its sources."""
_PER_MEGABYTE: Final = 2.0
"""[s] More time for each megabyte of layers."""
_WALL: Final = 1.75
"""Time on the wall for each second of processor time: broken files that wait end within 10 s, with
the start of the process, on a machine with three times as much to do as it can."""


class _Clock:
    """Bounds the processor time, and somewhat more of the time on the wall."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.more_bytes(0)

    def more_bytes(self, size: int) -> None:
        """Allow the time for reading more of the stage; past it the system ends the process."""
        self._seconds += _PER_MEGABYTE * size / 1e6
        try:
            import resource
            import signal
        except ImportError:  # Windows; the caller's bound ends it
            return
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(self._seconds) + 1
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, _WALL * self._seconds)


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (least, least))


def main() -> None:
    """Convert the stage of the request."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    os.environ["PXR_AR_DEFAULT_SEARCH_PATH"] = ""  # layers are found beside the stage alone
    from gltf_bullet.convert.robot_folders import RobotFolders
    from gltf_bullet.convert.usd.layers import StageError, open_stage
    from gltf_bullet.convert.usd.losses import Losses
    from gltf_bullet.convert.usd.world import describe_stage
    from gltf_bullet.convert.writer import build_world
    from gltf_bullet.diagnostics import Diagnostics

    # After the imports: the address space of libraries does not count for the stage.
    _limit_memory(int(request["memory"]))
    clock = _Clock(float(request["seconds"]))
    losses, diagnostics = Losses(), Diagnostics()
    path = Path(request["source"])
    folders = RobotFolders(path, request["allowed"])
    why = ""
    text = ""
    data = b""
    try:
        stage = open_stage(path, folders, losses, clock.more_bytes)
        world = describe_stage(stage, folders, losses)
        if not world.bodies:
            raise StageError("it has no rigid body, no collider and nothing that is drawn")
        file = build_world(world, diagnostics)
        text, data = json.dumps(file.root, allow_nan=False), file.data
    except MemoryError:
        why = "it needs too much memory"
    except Exception as error:  # pxr raises whatever a broken file leads to
        whole = " ".join(str(error).split())
        said = _SAID.findall(whole)
        why = (said[0] if said else whole) or type(error).__name__
    losses.report(diagnostics)
    target = Path(request["target"])
    (target / "told.json").write_text(
        json.dumps(
            {
                "why": why,
                "issues": [
                    {"code": i.code, "pointer": str(i.pointer), "values": i.values}
                    for i in diagnostics.issues
                ],
            },
            default=str,
        ),
        encoding="utf-8",
    )
    if why:
        os._exit(_FAILED)
    (target / "root.json").write_text(text, encoding="utf-8")
    (target / "data.bin").write_bytes(data)
    os._exit(0)  # the ends of OpenUSD's threads have no say


if __name__ == "__main__":
    main()
