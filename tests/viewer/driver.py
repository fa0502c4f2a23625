"""Runs ``gltf-bullet view`` in a process of its own and tells what goes on, a JSON line per turn.

python -m tests.viewer.driver FILE JOINT [BODY]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from gltf_bullet.viewer.program import Viewer, view
from gltf_bullet.viewer.session import ViewOptions


def main() -> None:
    path, joint, layers = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    told = 0.0

    def tell(viewer: Viewer) -> None:
        nonlocal told
        if time.monotonic() - told < 0.05:
            return
        told = time.monotonic()
        session = viewer.session
        scene = session.scene
        state = {
            "playing": session.playing,
            "loads": session.loads,
            "problem": session.problem,
            "shown": viewer.draw.shown if viewer.draw is not None else (),
            "lines": viewer.lines_drawn,
            "overlay": viewer.overlay_lines(),
            "time": scene.time if scene is not None else None,
        }
        if scene is not None and joint in scene.joints:
            state["position"] = scene.joints[joint].degrees_of_freedom[0].position
            state["target"] = scene.joint_controls.drive_targets()[0][0]
        print("STATE", json.dumps(state), flush=True)

    view(
        path,
        ViewOptions(show=tuple(filter(None, layers.split(","))), seconds=500.0),
        size=(1280, 800),
        say=lambda line: print("SAY", line, flush=True),
        each_turn=tell,
    )
    print("CLOSED", flush=True)


if __name__ == "__main__":
    main()
