"""The :class:`NodeTree` of the JSON's nodes and scenes (glTF 2.0, "Scenes" and "Nodes").

Columns are checked and converted as whole arrays; only if something is wrong, nodes are examined
one by one, to report what and where. 1000 nodes cost about 1 ms, 50 000 about 100 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from gltf_bullet.bounds import NAME_CHARACTERS
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, error, warning
from gltf_bullet.gltf.fields import (
    RANGE_MENDED,
    JsonObject,
    read_index,
    read_indices,
    read_numbers,
    read_object,
    read_objects,
    read_quaternion,
    read_string,
)
from gltf_bullet.number_ranges import range_of
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import FloatArray, split_linear

NODE_TWO_PARENTS = error(
    "NODE_TWO_PARENTS",
    "node {child} is a child of node {first} and of node {second}; must have one parent",
)
NODE_CYCLE = error("NODE_CYCLE", "the nodes {cycle} are children of each other in a circle")
NODE_MATRIX_AND_TRS = warning(
    "NODE_MATRIX_AND_TRS",
    "the node has matrix and also {got}; must have one of both; matrix is used",
)
MATRIX_SHEARED = warning(
    "MATRIX_SHEARED",
    "matrix has axes that are not orthogonal (cosine {got}); must be T * R * S; shear is dropped",
)
MATRIX_NOT_AFFINE = warning(
    "MATRIX_NOT_AFFINE", "matrix has the last row {got}; must be (0, 0, 0, 1); the row is ignored"
)
SCENE_NODE_NOT_ROOT = warning(
    "SCENE_NODE_NOT_ROOT",
    "node {got} is a child of node {parent}; a scene must list root nodes; it keeps its parent",
)

SHEAR_TOLERANCE = 1e-4
"""Cosine between two axes of a matrix that float32 rounding may leave."""

Reader = Callable[[JsonObject, JsonPointer, Diagnostics], Sequence[float] | None]


def read_node_tree(
    root: JsonObject,
    nodes: Sequence[JsonObject],
    counts: Mapping[str, int],
    diagnostics: Diagnostics,
) -> NodeTree | None:
    """All nodes with their transforms; ``None``, with issues, where the hierarchy is broken.

    Args:
        root: The JSON root, for ``scenes`` and ``scene``.
        nodes: The node objects in file order, wrong ones already replaced by ``{}``.
        counts: Lengths of the collections that nodes refer to.
        diagnostics: Receives every finding.
    """
    parents = _read_parents(nodes, diagnostics)
    translations, rotations, scales = _read_transforms(nodes, diagnostics)
    names = _read_names(nodes, diagnostics)
    mesh_of = _index_column(nodes, "mesh", counts["meshes"], diagnostics)
    skin_of = _index_column(nodes, "skin", counts["skins"], diagnostics)
    camera_of = _index_column(nodes, "camera", counts["cameras"], diagnostics)
    weights_of: list[tuple[float, ...] | None] = [None] * len(nodes)
    for index in _having(nodes, "weights"):
        at = ROOT / "nodes" / index
        weights_of[index] = read_numbers(
            nodes[index], "weights", at, diagnostics, instead="the mesh's own are used"
        )
    scenes = _read_scenes(root, len(nodes), parents, diagnostics)
    default_scene = read_index(
        root, "scene", ROOT, diagnostics, count=len(scenes), instead="the first scene is used"
    )
    if parents is None:
        return None
    return NodeTree.from_parents(
        names=names,
        parents=parents,
        translations=translations,
        rotations_xyzw=rotations,
        scales=scales,
        scenes=scenes,
        default_scene=default_scene,
        mesh_of=mesh_of,
        skin_of=skin_of,
        camera_of=camera_of,
        weights_of=weights_of,
    )


def index_extensions(
    nodes: Sequence[JsonObject], diagnostics: Diagnostics
) -> dict[str, tuple[int, ...]]:
    """Nodes by extension, in file order; wrong types are reported and left out."""
    found: dict[str, list[int]] = {}
    for index in _having(nodes, "extensions"):
        extensions = nodes[index]["extensions"]
        names: Iterable[str]
        if type(extensions) is dict and set(map(type, extensions.values())) <= {dict}:
            names = extensions
        else:
            names = extension_names(extensions, ROOT / "nodes" / index, diagnostics)
        for name in names:
            found.setdefault(name, []).append(index)
    return {name: tuple(indices) for name, indices in found.items()}


def extension_names(
    extensions: object, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[str, ...]:
    """The names of the usable entries of an ``extensions`` member whose owner is at ``at``."""
    if type(extensions) is not dict:
        _report_no_object({"extensions": extensions}, "extensions", at, diagnostics)
        return ()
    names: list[str] = []
    for name, value in extensions.items():
        if type(value) is dict:
            names.append(name)
        else:
            _report_no_object(extensions, name, at / "extensions", diagnostics)
    return tuple(names)


def _report_no_object(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> None:
    read_object(owner, key, at, diagnostics, instead="it is ignored")


def _having(nodes: Sequence[JsonObject], key: str) -> list[int]:
    return [index for index, node in enumerate(nodes) if key in node]


def _read_parents(nodes: Sequence[JsonObject], diagnostics: Diagnostics) -> list[int] | None:
    """Parent per node, -1 for roots; ``None`` when any ``children`` is wrong."""
    count = len(nodes)
    parents = [-1] * count
    sound = True
    for index in _having(nodes, "children"):
        children = nodes[index]["children"]
        if type(children) is not list or not all(
            type(child) is int and 0 <= child < count for child in children
        ):
            before, at = len(diagnostics), ROOT / "nodes" / index
            children = read_indices(nodes[index], "children", at, diagnostics, count=count) or ()
            sound = sound and len(diagnostics) == before
        for position, child in enumerate(children):
            if parents[child] != -1:
                diagnostics.report(
                    NODE_TWO_PARENTS,
                    ROOT / "nodes" / index / "children" / position,
                    child=child,
                    first=parents[child],
                    second=index,
                )
                sound = False
            else:
                parents[child] = index
    return parents if _report_cycles(parents, diagnostics) and sound else None


def _report_cycles(parents: Sequence[int], diagnostics: Diagnostics) -> bool:
    """Return True if every node leads to a root; report each cycle once."""
    # 0: not seen, 1: on the current way up, 2: settled.
    state = bytearray(len(parents))
    sound = True
    for start in range(len(parents)):
        walk: list[int] = []
        node = start
        while node != -1 and not state[node]:
            state[node] = 1
            walk.append(node)
            node = parents[node]
        if node != -1 and state[node] == 1:
            cycle = walk[walk.index(node) :]
            shown = ", ".join(map(str, cycle[:10])) + (", ..." if len(cycle) > 10 else "")
            diagnostics.report(NODE_CYCLE, ROOT / "nodes" / node, cycle=shown)
            sound = False
        for node in walk:
            state[node] = 2
    return sound


def _read_transforms(
    nodes: Sequence[JsonObject], diagnostics: Diagnostics
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Local translations [count, 3], rotations [count, 4] (xyzw) and scales [count, 3]."""
    translations = _column(
        nodes, "translation", (0.0, 0.0, 0.0), diagnostics, _read_vec3("translation")
    )
    scales = _column(nodes, "scale", (1.0, 1.0, 1.0), diagnostics, _read_vec3("scale"))
    rotations = _column(
        nodes,
        "rotation",
        (0.0, 0.0, 0.0, 1.0),
        diagnostics,
        lambda node, at, sink: read_quaternion(node, "rotation", at, sink),
    )
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rotations, axis=1)
    # The same limits as read_quaternion, which then tells the node.
    for index in np.flatnonzero((lengths < 1e-6) | ~(np.abs(lengths - 1.0) <= 1e-2)).tolist():
        at = ROOT / "nodes" / index
        rotations[index] = read_quaternion(nodes[index], "rotation", at, diagnostics) or (
            0,
            0,
            0,
            1,
        )
    having = _having(nodes, "matrix")
    if having:
        matrices = _read_matrices([nodes[index] for index in having], having, diagnostics)
        translations[having] = matrices[:, :3, 3]
        quats, sizes, shears = split_linear(matrices[:, :3, :3])
        rotations[having], scales[having] = quats, sizes
        for position in np.flatnonzero(shears > SHEAR_TOLERANCE).tolist():
            at = ROOT / "nodes" / having[position] / "matrix"
            diagnostics.report(MATRIX_SHEARED, at, got=round(float(shears[position]), 6))
    return translations, rotations, scales


def _read_matrices(
    owners: Sequence[JsonObject], indices: Sequence[int], diagnostics: Diagnostics
) -> FloatArray:
    """The ``matrix`` of each owner, shape [count, 4, 4]; the identity where it is unusable."""
    identity = tuple(np.eye(4).ravel().tolist())
    flat = _column(
        owners,
        "matrix",
        identity,
        diagnostics,
        lambda node, at, sink: read_numbers(node, "matrix", at, sink, count=16),
        indices,
    )
    # glTF stores columns first.
    matrices = np.ascontiguousarray(flat.reshape(-1, 4, 4).transpose(0, 2, 1))
    last_rows = matrices[:, 3, :]
    wrong_rows = np.abs(last_rows - np.eye(4)[3]).max(axis=1) > 1e-6
    for position, owner in enumerate(owners):
        at = ROOT / "nodes" / indices[position]
        also = [key for key in ("translation", "rotation", "scale") if key in owner]
        if also:
            diagnostics.report(NODE_MATRIX_AND_TRS, at, got=", ".join(also))
        if wrong_rows[position]:
            row = tuple(last_rows[position].tolist())
            diagnostics.report(MATRIX_NOT_AFFINE, at / "matrix", got=row)
    return matrices


def _read_vec3(key: str) -> Reader:
    return lambda node, at, diagnostics: read_numbers(node, key, at, diagnostics, count=3)


def _column(
    nodes: Sequence[JsonObject],
    key: str,
    default: tuple[float, ...],
    diagnostics: Diagnostics,
    read_one: Reader,
    indices: Sequence[int] | None = None,
) -> FloatArray:
    """Member ``key`` of every node as one array [count, len(default)].

    ``indices`` are the nodes' indices in the file if ``nodes`` is a selection.
    """
    width = len(default)
    column = np.empty((len(nodes), width))
    column[:] = default
    having = _having(nodes, key)
    if not having:
        return column
    values = [nodes[index][key] for index in having]
    block = _plain_block(values, width, range_of(key).largest)
    if block is not None:
        column[having] = block
        return column
    for index in having:
        at = ROOT / "nodes" / (indices[index] if indices is not None else index)
        column[index] = read_one(nodes[index], at, diagnostics) or default
    return column


def _plain_block(values: Sequence[object], width: int, largest: float) -> FloatArray | None:
    """``values`` as an array if all are lists of ``width`` numbers in range, else ``None``."""
    if set(map(type, values)) != {list}:
        return None
    lists: Sequence[list[object]] = values  # type: ignore[assignment]  # checked in the line above
    if set(map(len, lists)) != {width}:
        return None
    flat = list(chain.from_iterable(lists))
    # By exact type: bool is an int to isinstance and to numpy.
    if not set(map(type, flat)) <= {int, float}:
        return None
    try:
        block = np.array(flat, dtype=np.float64).reshape(-1, width)
    except OverflowError:
        return None
    return block if bool((np.abs(block) <= largest).all()) else None


def _read_names(nodes: Sequence[JsonObject], diagnostics: Diagnostics) -> list[str]:
    names: list[str] = []
    for index, node in enumerate(nodes):
        name = node.get("name", "")
        if type(name) is not str:
            at = ROOT / "nodes" / index
            name = read_string(node, "name", at, diagnostics, instead="it has no name") or ""
        if len(name) > NAME_CHARACTERS:
            diagnostics.report(
                RANGE_MENDED, ROOT / "nodes" / index / "name",
                key="name", got=f"a text of {len(name)} characters",
                allowed=f"one of at most {NAME_CHARACTERS}", instead="its beginning is used",
            )  # fmt: skip
            name = name[:NAME_CHARACTERS]
        names.append(name)
    return names


def _index_column(
    nodes: Sequence[JsonObject], key: str, count: int, diagnostics: Diagnostics
) -> list[int | None]:
    column: list[int | None] = [None] * len(nodes)
    for index in _having(nodes, key):
        value = nodes[index][key]
        if type(value) is not int or not 0 <= value < count:
            at = ROOT / "nodes" / index
            instead = f"the node has no {key}"
            value = read_index(nodes[index], key, at, diagnostics, count=count, instead=instead)
        column[index] = value
    return column


def _read_scenes(
    root: JsonObject, count: int, parents: Sequence[int] | None, diagnostics: Diagnostics
) -> list[tuple[int, ...]]:
    """Root nodes of each scene, repetitions left out."""
    scenes: list[tuple[int, ...]] = []
    for _, at, scene in read_objects(root, "scenes", ROOT, diagnostics):
        nodes = (
            read_indices(scene, "nodes", at, diagnostics, count=count, instead="it is left out")
            or ()
        )
        for position, node in enumerate(nodes):
            if parents is not None and parents[node] != -1:
                diagnostics.report(
                    SCENE_NODE_NOT_ROOT,
                    at / "nodes" / position,
                    got=node,
                    parent=parents[node],
                )
        scenes.append(tuple(dict.fromkeys(nodes)))
    return scenes
