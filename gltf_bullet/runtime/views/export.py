"""Writing a scene back into its file: the present pose, or a recording as an animation.

Only node transforms, velocities and the new animation are changed; everything else of the file
(meshes, materials, other animations, names, extras, unknown extensions) is written as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.writing import self_contained, write_document
from gltf_bullet.model import MotionKind
from gltf_bullet.output_files import require_another_file
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    decompose_trs,
    quat_conjugate,
    quat_rotate,
)

NOISE = 1e-12
"""Differences that are rounding [m, and parts of 1]: a node within them has not moved."""


def write_pose(core: SceneCore, path: str | os.PathLike[str], *, force: bool) -> None:
    """Write a scene's file with its present pose and velocities; errors as in write_posed."""
    nodes = core.nodes.written_nodes
    poses = node_poses(core.asset.tree, nodes, core.nodes.local_matrices(nodes))
    node_from_world = _node_from_world(core, poses)
    write_posed(
        core.asset.document,
        path,
        poses=poses,
        velocities={
            motion.pointer: _rotated(node_from_world[node], core.world.motion.velocities_of(node))
            for node, motion in core.model.now.motions.items()
            if motion.kind is not MotionKind.STATIC and motion.pointer
        },
        force=force,
    )


def _rotated(
    turn_xyzw: FloatArray, velocities: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    linear, angular = velocities
    return quat_rotate(turn_xyzw, linear), quat_rotate(turn_xyzw, angular)


def _node_from_world(core: SceneCore, poses: Mapping[int, NodePose]) -> FloatArray:
    """Return the rotations of nodes as read from the written file, inverted, xyzw, [node_count, 4].

    Below mirrored nodes they differ from those of the bodies here: the same matrix is made of other
    local rotations there.
    """
    local = core.asset.tree.rotations_xyzw.copy()
    for node, pose in poses.items():
        local[node] = pose.rotation_xyzw
    turn = core.placement.rotation_xyzw
    return quat_conjugate(core.asset.tree.compose_rotations(local, turn))


def node_poses(tree: NodeTree, nodes: IntArray, local_matrices: FloatArray) -> dict[int, NodePose]:
    """Return local transforms as glTF stores them, by node.

    Args:
        tree: The nodes of the file, whose scales determine the signs.
        nodes: Node indices, shape [k].
        local_matrices: Their parent_from_node, shape [k, 4, 4].
    """
    translations, rotations, scales = decompose_trs(local_matrices, tree.scales[nodes])
    return {
        node: NodePose(translations[k], rotations[k], scales[k])
        for k, node in enumerate(nodes.tolist())
    }


class NodePose(Struct, frozen=True, eq=False):
    """A node's local transform."""

    translation: FloatArray
    rotation_xyzw: FloatArray
    scale: FloatArray


class Track(Struct, frozen=True, eq=False):
    """Keyframes for one property of a node."""

    node: int
    path: str
    times: FloatArray
    """Times [s], shape [key_count]."""
    values: FloatArray
    """Shape [key_count, width]; of splines three rows per key: in-tangent, value, out-tangent."""
    interpolation: Literal["LINEAR", "STEP", "CUBICSPLINE"] = "LINEAR"


def write_posed(
    document: Document,
    path: str | os.PathLike[str],
    *,
    poses: Mapping[int, NodePose],
    velocities: Mapping[JsonPointer, tuple[FloatArray, FloatArray]],
    tracks: Sequence[Track] = (),
    animation_name: str = "Simulation",
    force: bool = False,
) -> None:
    """Write the document with other node transforms, velocities and one more animation.

    Args:
        document: The file as read; it is not changed.
        path: Ends in ``.glb`` or ``.gltf``; buffers and images go into the file.
        poses: Local transforms by node.
        velocities: ``linearVelocity`` and ``angularVelocity``, node space, by motion object.
        tracks: Tracks of the new animation; without any, no animation is added.
        animation_name: Name of the new animation.
        force: Write over the file that ``document`` was read from, too.

    Raises:
        FileExistsError: ``path`` is the file that ``document`` was read from.
        ContainerError: A buffer of the document cannot be read.
        ValueError: Another suffix.
        OSError: The file cannot be written.
    """
    require_another_file(document.path, path, force=force)
    root, buffers = self_contained(document, Diagnostics())
    nodes = [dict(node) for node in document.objects("nodes")]
    if nodes:
        root["nodes"] = nodes
    for index, pose in poses.items():
        node = nodes[index]
        if _has_stayed(document.tree, index, pose):
            continue
        node.pop("matrix", None)
        _set(node, "translation", pose.translation, (0.0, 0.0, 0.0))
        _set(node, "rotation", pose.rotation_xyzw, (0.0, 0.0, 0.0, 1.0))
        _set(node, "scale", pose.scale, (1.0, 1.0, 1.0))
    for pointer, (linear, angular) in velocities.items():
        motion = copy_down(root, pointer)
        _set(motion, "linearVelocity", linear, (0.0, 0.0, 0.0))
        _set(motion, "angularVelocity", angular, (0.0, 0.0, 0.0))
    if tracks:
        add_animation(root, buffers, tracks, animation_name)
    write_document(root, buffers, path)


def _has_stayed(tree: NodeTree, node: int, pose: NodePose) -> bool:
    """Return True if a node is where the file has it."""
    turn = tree.rotations_xyzw[node]
    size = max(1.0, float(np.abs(tree.translations[node]).max()))
    return bool(
        np.abs(pose.translation - tree.translations[node]).max() <= NOISE * size
        and min(np.abs(pose.rotation_xyzw - s * turn).max() for s in (-1.0, 1.0)) <= NOISE
        and np.abs(pose.scale / np.where(tree.scales[node], tree.scales[node], 1.0) - 1.0)[
            tree.scales[node] != 0.0
        ].max(initial=0.0)
        <= NOISE
    )


def number_like(value: Any, before: Any) -> Any:
    """Return a number as a file would have it where it had ``before``; others as they are.

    Numbers that are equal but for rounding stay, whole numbers stay whole, and noise around zero is
    zero.
    """
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    is_number = isinstance(before, (int, float)) and not isinstance(before, bool)
    if is_number and abs(value - before) <= NOISE * max(1.0, abs(before)):
        return before
    if isinstance(before, int) and is_number and value == round(value):
        return int(value)
    return 0.0 if abs(value) <= NOISE else value


def _set(owner: dict[str, Any], key: str, value: FloatArray, default: Sequence[float]) -> None:
    """Set a vector; a default that the file did not state stays out."""
    if key not in owner and np.array_equal(value, default):
        return
    before = owner.get(key)
    known = before if isinstance(before, list) and len(before) == len(value) else default
    owner[key] = [number_like(float(value[k]), known[k]) for k in range(len(value))]


def copy_down(root: dict[str, Any], pointer: JsonPointer) -> Any:
    """Copy the containers on the path to ``pointer``, which are shared; return what is there."""
    owner: Any = root
    for token in pointer.tokens:
        key: Any = int(token) if isinstance(owner, list) else token
        owner[key] = list(owner[key]) if isinstance(owner[key], list) else dict(owner[key])
        owner = owner[key]
    return owner


def add_animation(
    root: dict[str, Any],
    buffers: list[bytes | memoryview | None],
    tracks: Sequence[Track],
    name: str,
) -> None:
    """Append an animation to a root whose lists are its own, and its buffer to ``buffers``."""
    data = bytearray()
    views = list(root.get("bufferViews", []))
    accessors = list(root.get("accessors", []))
    inputs: dict[bytes, int] = {}

    def accessor(values: FloatArray, kind: str, *, bounds: bool) -> int:
        packed = np.ascontiguousarray(values, dtype="<f4")
        entry: dict[str, Any] = {
            "bufferView": len(views), "componentType": 5126, "count": len(packed), "type": kind,
        }  # fmt: skip
        if bounds:
            entry["min"], entry["max"] = [float(packed.min())], [float(packed.max())]
        views.append({"buffer": len(buffers), "byteOffset": len(data), "byteLength": packed.nbytes})
        data.extend(packed.tobytes())
        accessors.append(entry)
        return len(accessors) - 1

    channels: list[dict[str, Any]] = []
    samplers: list[dict[str, Any]] = []
    for track in tracks:
        key = np.asarray(track.times, dtype="<f4").tobytes()
        if key not in inputs:
            inputs[key] = accessor(track.times, "SCALAR", bounds=True)
        kind = "VEC4" if track.values.shape[1] == 4 else "VEC3"
        output = accessor(track.values, kind, bounds=False)
        channels.append(
            {"sampler": len(samplers), "target": {"node": track.node, "path": track.path}}
        )
        how = track.interpolation
        samplers.append({"input": inputs[key], "output": output, "interpolation": how})
    root["buffers"] = [*root.get("buffers", []), {"byteLength": len(data)}]
    buffers.append(bytes(data))
    root["bufferViews"], root["accessors"] = views, accessors
    animation = {"name": name, "channels": channels, "samplers": samplers}
    root["animations"] = [*root.get("animations", []), animation]
