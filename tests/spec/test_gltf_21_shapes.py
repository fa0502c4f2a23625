"""The draft of glTF 2.1: core shapes under KHR_physics_rigid_bodies (schemas)."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from tests.spec.files import KHR, Json, codes, file, loaded, node
from tools.gltf_builder import GltfBuilder

SIZES = [
    ("box", None, (1, 1, 1)),
    ("box", {"size": [1, 2, 3]}, (1, 2, 3)),
    ("sphere", None, (1, 1, 1)),
    # Its own defaults: a capsule of 1 m between the centres, a cylinder of 2 m, radii of 0.5 m.
    ("capsule", None, (1, 2, 1)),
    ("cylinder", None, (1, 2, 1)),
    ("cylinder", {"height": 1, "radiusBottom": 0.25, "radiusTop": 0.25}, (0.5, 1, 0.5)),
]


@pytest.mark.parametrize("naming", ["geometry", "shape"])
@pytest.mark.parametrize(("kind", "values", "size"), SIZES)
def test_shapes_have_their_sizes_and_defaults(
    kind: str, values: Json | None, size: tuple[float, ...], naming: str
) -> None:
    entry = {"type": kind, **({} if values is None else {kind: values})}
    collider = {"geometry": {"shape": 0}} if naming == "geometry" else {"shape": 0}
    content = file([node({KHR: {"collider": collider}})], shapes=[entry], asset={"version": "2.1"})
    with loaded(content) as scene:
        for axis in range(3):
            far = 50.0 * np.eye(3)[axis]
            ahead, back = scene.ray_cast(far, -far), scene.ray_cast(-far, far)
            assert ahead is not None
            assert back is not None
            long = ahead.position[axis] - back.position[axis]
            assert long == pytest.approx(size[axis], abs=2e-3)
    assert codes(content) == set()


def test_a_plane_has_one_side() -> None:
    """A ball lands on it."""
    entries = [{"type": "plane"}, {"type": "sphere"}]
    ball = {KHR: {"motion": {}, "collider": {"geometry": {"shape": 1}}}}
    nodes = [
        node({KHR: {"collider": {"geometry": {"shape": 0}}}}),
        node(ball, translation=[0, 2, 0]),
    ]
    with loaded(file(nodes, shapes=entries, asset={"version": "2.1"})) as scene:
        scene.step(360)
        assert scene.world_from_node(1)[1, 3] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("kind", "height"), [("mesh", 0.0), ("convexMesh", 1.5)])
def test_meshes_are_shapes_too(kind: str, height: float) -> None:
    points = [(0, 0, -1), (0, 0, 1), (2, 0, 1), (2, 0, -1), (0, 2, -1), (0, 2, 1)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 1), (2, 1, 0), (3, 2, 0), (5, 4, 0), (1, 5, 0)]
    builder = GltfBuilder()
    mesh = builder.mesh(points, faces)
    builder.node("Notch", extensions={KHR: {"collider": {"geometry": {"shape": 0}}}})
    root = builder.json()
    root["shapes"] = [{"type": kind, kind: {"mesh": mesh}}]
    root["asset"]["version"] = "2.1"

    data = base64.b64encode(builder.buffers()[0]).decode()
    root["buffers"] = [{"byteLength": len(builder.buffers()[0]),
                        "uri": f"data:application/octet-stream;base64,{data}"}]  # fmt: skip
    with loaded(json.dumps(root).encode()) as scene:
        hit = scene.ray_cast((0.5, 9, 0.1), (0.5, -9, 0.1))
        assert hit is not None
        assert hit.position[1] == pytest.approx(height, abs=5e-3)
