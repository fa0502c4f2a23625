"""Writes a file of many nodes, to see how long reading and checking take.

python -m tools.make_large out/large.gltf --nodes 50000
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.gltf_builder import GltfBuilder

__all__ = ["write_large"]


def write_large(path: Path, node_count: int) -> None:
    """A grid of boxes: every second node is a body, the next one its collider."""
    builder = GltfBuilder()
    builder.root_extension(
        "KHR_implicit_shapes", {"shapes": [{"type": "box", "box": {"size": [0.5, 0.5, 0.5]}}]}
    )
    for index in range(node_count // 2):
        body = builder.node(
            f"Body{index}",
            translation=(index % 250, 1.0, index // 250),
            extensions={"KHR_physics_rigid_bodies": {"motion": {"mass": 1.0}}},
        )
        builder.node(
            f"Collider{index}",
            parent=body,
            extensions={"KHR_physics_rigid_bodies": {"collider": {"geometry": {"shape": 0}}}},
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(builder.gltf())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--nodes", type=int, default=50000)
    arguments = parser.parse_args()
    write_large(arguments.path, arguments.nodes)
