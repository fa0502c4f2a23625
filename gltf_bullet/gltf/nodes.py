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
from gltf_bullet.gltf.fields import RANGE_MENDED, JsonObject, Reader
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

_IDENTITY = (0.0, 0.0, 0.0, 1.0)
_IDENTITY_MATRIX = tuple(np.eye(4).ravel().tolist())

ReadOne = Callable[[Reader, str], Sequence[float] | None]
"""Reads a list of numbers from a node."""


def _node(nodes: Sequence[JsonObject], index: int, diagnostics: Diagnostics) -> Reader:
    return Reader(nodes[index], JsonPointer(f"/nodes/{index}"), diagnostics)


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
        node = _node(nodes, index, diagnostics)
        weights_of[index] = node.numbers("weights", instead="the mesh's own are used")
    scenes = _read_scenes(root, len(nodes), parents, diagnostics)
    default_scene = Reader(root, ROOT, diagnostics).index(
        "scene", count=len(scenes), instead="the first scene is used"
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
            names = extension_names(_node(nodes, index, diagnostics))
        for name in names:
            found.setdefault(name, []).append(index)
    return {name: tuple(indices) for name, indices in found.items()}


def extension_names(owner: Reader) -> tuple[str, ...]:
    """The names of the usable entries of the ``extensions`` of ``owner``."""
    found = owner.member("extensions", instead="it is ignored")
    if found is None:
        return ()
    return tuple(
        name for name in found.json if found.member(name, instead="it is ignored") is not None
    )


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
            before = len(diagnostics)
            children = _node(nodes, index, diagnostics).indices("children", count=count) or ()
            sound = sound and len(diagnostics) == before
        for position, child in enumerate(children):
            if parents[child] != -1:
                _node(nodes, index, diagnostics).report(
                    NODE_TWO_PARENTS, "children", position,
                    child=child, first=parents[child], second=index,
                )  # fmt: skip
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
    translations = _column(nodes, "translation", (0.0, 0.0, 0.0), diagnostics)
    scales = _column(nodes, "scale", (1.0, 1.0, 1.0), diagnostics)
    rotations = _column(nodes, "rotation", _IDENTITY, diagnostics, Reader.quaternion)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rotations, axis=1)
    # The same limits as the reader's, which then tells the node.
    for index in np.flatnonzero((lengths < 1e-6) | ~(np.abs(lengths - 1.0) <= 1e-2)).tolist():
        rotations[index] = _node(nodes, index, diagnostics).quaternion("rotation") or _IDENTITY
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
    flat = _column(owners, "matrix", _IDENTITY_MATRIX, diagnostics, indices=indices)
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


def _column(
    nodes: Sequence[JsonObject],
    key: str,
    default: tuple[float, ...],
    diagnostics: Diagnostics,
    read_one: ReadOne | None = None,
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
        node = Reader(nodes[index], at, diagnostics)
        found = node.numbers(key, count=width) if read_one is None else read_one(node, key)
        column[index] = found or default
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
            reader = _node(nodes, index, diagnostics)
            name = reader.string("name", instead="it has no name") or ""
        if len(name) > NAME_CHARACTERS:
            _node(nodes, index, diagnostics).report(
                RANGE_MENDED, "name", key="name", got=f"a text of {len(name)} characters",
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
            instead = f"the node has no {key}"
            value = _node(nodes, index, diagnostics).index(key, count=count, instead=instead)
        column[index] = value
    return column


def _read_scenes(
    root: JsonObject, count: int, parents: Sequence[int] | None, diagnostics: Diagnostics
) -> list[tuple[int, ...]]:
    """Root nodes of each scene, repetitions left out."""
    scenes: list[tuple[int, ...]] = []
    for scene in Reader(root, ROOT, diagnostics).entries("scenes"):
        nodes = scene.indices("nodes", count=count, instead="it is left out") or ()
        for position, node in enumerate(nodes):
            if parents is not None and parents[node] != -1:
                parent = parents[node]
                scene.report(SCENE_NODE_NOT_ROOT, "nodes", position, got=node, parent=parent)
        scenes.append(tuple(dict.fromkeys(nodes)))
    return scenes
