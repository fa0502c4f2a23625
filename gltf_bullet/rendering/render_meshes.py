"""The render meshes of a scene, baked into the frames of the bodies that they belong to.

One mesh per body: node transforms are applied to the vertices, materials become one texture.
Meshes without a body are scenery; below an animated node they follow that node. The file is long
since transparency, merging and caching all decide which parts may share a mesh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, warning
from gltf_bullet.disk_cache import cache_folder
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.materials import AlphaMode, TextureUse
from gltf_bullet.model import Collider
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.collision_meshes import Deformation
from gltf_bullet.records import replace
from gltf_bullet.rendering.atlas import Piece, merged, repeats
from gltf_bullet.rendering.baked_files import BakedFiles
from gltf_bullet.rendering.bare_colliders import bare_colliders
from gltf_bullet.rendering.mesh_parts import Part, PartReader
from gltf_bullet.rendering.paints import painted, with_back_faces
from gltf_bullet.rendering.texture_sampling import sampled
from gltf_bullet.rendering.visual_budget import within_budget
from gltf_bullet.rendering.visual_plans import (
    NO_VISUALS,
    NodeVisual,
    Texture,
    VisualMesh,
    VisualPlans,
)
from gltf_bullet.scene import Animation, NodeFrames, NodeTree
from gltf_bullet.transforms import IDENTITY_POSE, BoolArray, FloatArray, IntArray

# --- Alpha modes as geometry: PyBullet draws no holes in textures, so they are cut from the mesh --
#
# glTF 2.0, "Alpha Coverage". PyBullet blends with one number per mesh: the mean alpha is used.

ALPHA_CUT_COARSE = warning(
    "ALPHA_CUT_COARSE",
    "the holes of a texture are cut into the mesh, by triangles; {share:.1%} of its area is cut "
    "or left wrongly",
)
ALPHA_AVERAGED = warning(
    "ALPHA_AVERAGED",
    "alpha runs from {low:.2f} to {high:.2f} over the surface; Bullet blends all of it with "
    "{used:.2f}",
)

MAX_TRIANGLES = 16384
"""Number of triangles from which on mixed ones are not divided further."""
LEVELS = 7
"""Number of times that a triangle at the edge of a hole is divided into four."""
ROWS = 9
"""Number of samples along each edge of a triangle."""


class _Lattice(Struct, frozen=True, kw_only=True):
    weights: FloatArray
    """Barycentric coordinates, shape [sample_count, 3]."""

    @staticmethod
    def of(rows: int) -> _Lattice:
        pairs = [(i, j) for i in range(rows) for j in range(rows - i)]
        first, second = np.array(pairs, dtype=np.float64).T
        # Moved slightly inwards: a texel that a corner only touches does not count.
        inner = (np.stack([first, second, rows - 1 - first - second], 1) + 0.2) / (rows - 0.4)
        return _Lattice(weights=inner / inner.sum(axis=1, keepdims=True))


_LATTICE = _Lattice.of(ROWS)


def cut_out(part: Part, diagnostics: Diagnostics) -> tuple[Part, float] | None:
    """The visible part of a part and its alpha; ``None`` if nothing of it is visible."""
    material = part.material
    if material.alpha_mode is AlphaMode.OPAQUE:
        return part, 1.0
    alphas = _alphas(part, part.corners())
    if material.alpha_mode is AlphaMode.MASK:
        return _cut(part, alphas, material.alpha_cutoff, diagnostics)
    low, high = float(alphas.min()), float(alphas.max())
    if high < 1.0 / 255.0:
        return None
    if high - low < 2.0 / 255.0:
        return part, min(1.0, high)
    if ((alphas < 0.1) | (alphas > 0.9 * high)).mean() > 0.9:
        # Leaves and decals: holes rather than glass.
        found = _cut(part, alphas, 0.5 * high, diagnostics)
        return None if found is None else (found[0], 1.0 if high > 0.9 else high)
    used = float(np.average(alphas.mean(axis=1), weights=_areas(part.corners()) + 1e-30))
    diagnostics.report(ALPHA_AVERAGED, material.pointer, low=low, high=high, used=used)
    return part, used


def _alphas(part: Part, corners: FloatArray) -> FloatArray:
    """Alpha at the lattice points of each triangle, shape [triangle_count, sample_count]."""
    result = np.full((len(corners), len(_LATTICE.weights)), part.material.base_color[3])
    use = part.material.texture
    column = 6
    if part.uvs is not None:
        if part.image is not None and isinstance(use, TextureUse):
            uvs = np.einsum("sk,tkn->tsn", _LATTICE.weights, corners[:, :, 6:8])
            result = result * (sampled(part.image, uvs, use.wraps)[..., 3] / 255.0)
        column = 8
    if part.colors is not None:
        result = result * (corners[:, :, column + 3] @ _LATTICE.weights.T)
    return result


def _cut(
    part: Part, alphas: FloatArray, cutoff: float, diagnostics: Diagnostics
) -> tuple[Part, float] | None:
    seen = alphas >= cutoff
    if seen.all():
        return part, 1.0
    kept: list[FloatArray] = []
    corners = part.corners()
    whole = float(_areas(corners).sum())
    doubtful = 0.0
    for level in range(LEVELS + 1):
        share = seen.mean(axis=1)
        kept.append(corners[share == 1.0])
        mixed = (share > 0.0) & (share < 1.0)
        rest, rest_share = corners[mixed], share[mixed]
        count = sum(map(len, kept)) + len(rest)
        if not len(rest):
            break
        if level == LEVELS or count + 3 * len(rest) > MAX_TRIANGLES:
            doubtful = float((_areas(rest) * np.minimum(rest_share, 1.0 - rest_share)).sum())
            kept.append(rest[rest_share >= 0.5])
            break
        corners = _quartered(rest)
        seen = _alphas(part, corners) >= cutoff
    found = np.concatenate(kept)
    if whole > 0.0 and doubtful / whole > 1e-3:
        diagnostics.report(ALPHA_CUT_COARSE, part.material.pointer, share=doubtful / whole)
    return (part.with_corners(found), 1.0) if len(found) else None


def _quartered(corners: FloatArray) -> FloatArray:
    """Each triangle divided into four at the middles of its edges; shape [4 * count, 3, n]."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    return np.concatenate(
        [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
    )


def _areas(corners: FloatArray) -> npt.NDArray[np.float64]:
    points = corners[:, :, :3]
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    return np.asarray(0.5 * np.linalg.norm(normals, axis=1), np.float64)


# --- Visuals of a scene, one mesh per body --------------------------------------------------------

ALPHA_MIXED = warning(
    "ALPHA_MIXED",
    "alpha {alpha:.2f} of a part is {done}: PyBullet blends whole bodies, and other parts of this "
    "one differ",
)
VISUAL_NOT_ANIMATED = warning(
    "VISUAL_NOT_ANIMATED",
    "the {what} of the shown mesh is animated; it is drawn as it stood when its body was made",
)

MOST_CACHED = 256
"""Most baked meshes that are cached for further instances."""

Owner = tuple[str, int]
"""("body", motion node), ("carrier", animated node) or ("root", root node)."""


def has_render_meshes(tree: NodeTree, scene_index: int | None = None) -> bool:
    """Return True if any node of the scene has a mesh."""
    if not any(mesh is not None for mesh in tree.mesh_of):
        return False
    inside = tree.nodes_of_scene(scene_index)
    return any(mesh is not None and inside[node] for node, mesh in enumerate(tree.mesh_of))


def automatic_visuals(
    document: Document, motions: Iterable[int], colliders: Mapping[int, Collider]
) -> Literal["mesh", "auto", "collider"]:
    """The best visuals for a file: its meshes, and colliders of what has no mesh.

    Args:
        document: The file.
        motions: Nodes with motion.
        colliders: Colliders by node.
    """
    tree = document.tree
    if not has_render_meshes(tree):
        return "collider"
    if any(skin is not None for skin in tree.skin_of):
        return "mesh"  # one node shows many bodies
    marked = np.zeros(len(tree), dtype=bool)
    marked[list(motions)] = True
    owner_of = tree.nearest_at_or_above(marked)
    shown = {int(owner_of[node]) for node, mesh in enumerate(tree.mesh_of) if mesh is not None}
    solid = {int(owner_of[node]) for node in colliders} - {-1}
    return "mesh" if solid <= shown and not bare_colliders(document, motions, colliders) else "auto"


def plan_visuals(
    document: Document,
    frames: NodeFrames,
    motion_node_of: IntArray,
    scene_index: int | None,
    options: LoadOptions,
    diagnostics: Diagnostics,
    animations: tuple[Animation, ...] = (),
    deformation: Deformation | None = None,
) -> VisualPlans:
    """The visuals of a scene.

    Args:
        document: The file.
        frames: Global transforms of the nodes.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        scene_index: Index of the glTF scene; ``None`` takes the file's default.
        options: Limits of the number of vertices and texels.
        diagnostics: Receives errors in the meshes, and what cannot be shown.
        animations: Animations of the file.
        deformation: Morph weights other than the authored ones.
    """
    tree = document.tree
    if not has_render_meshes(tree, scene_index):
        return NO_VISUALS
    shown = tree.nodes_of_scene(scene_index) & ~_hidden(document)
    nodes = [node for node, mesh in enumerate(tree.mesh_of) if mesh is not None and shown[node]]
    if not nodes:
        return NO_VISUALS
    _report_unanimated(tree, nodes, animations, diagnostics)
    reader = PartReader(document, frames, deformation or {}, diagnostics)
    files = BakedFiles(document, cache_folder(options.cache_folder))
    baker = _Baker(document, frames, deformation or {}, diagnostics, files)
    owner_of = _owners(tree, motion_node_of, animations)

    def key_of(owner: int, node: int) -> Owner:
        if owner < 0:
            return "root", _root_of(tree, node)
        return ("body" if motion_node_of[owner] == owner else "carrier"), owner

    plain: dict[Owner, list[int]] = {}
    skinned: dict[Owner, list[Part]] = {}
    for node in nodes:
        skin = tree.skin_of[node]
        if skin is None:
            plain.setdefault(key_of(int(owner_of[node]), node), []).append(node)
            continue
        for owner, part in reader.read_skinned(node, skin, owner_of):
            skinned.setdefault(key_of(owner, node), []).append(part)
    bodies: dict[int, NodeVisual] = {}
    scenery: list[NodeVisual] = []
    for key in {**plain, **skinned}:
        visuals = baker.bake(key, plain.get(key, []), skinned.get(key, []))
        if key[0] == "body":
            bodies.update((key[1], visual) for visual in visuals)
        else:
            scenery += visuals
    plans = VisualPlans(bodies=bodies, scenery=tuple(scenery))
    return within_budget(plans, options.visual_vertices, options.visual_texels, diagnostics)


def _hidden(document: Document) -> BoolArray:
    """Nodes that KHR_node_visibility hides, with all nodes below them."""
    tree = document.tree
    hidden = np.zeros(len(tree), dtype=bool)
    for node in document.nodes_with_extension("KHR_node_visibility"):
        block = document.node_extension(node, "KHR_node_visibility") or {}
        hidden[node] = block.get("visible") is False
    return np.asarray(tree.nearest_at_or_above(hidden) >= 0)


def _report_unanimated(
    tree: NodeTree,
    nodes: list[int],
    animations: tuple[Animation, ...],
    diagnostics: Diagnostics,
) -> None:
    scaled = np.zeros(len(tree), dtype=bool)
    morphed = np.zeros(len(tree), dtype=bool)
    for animation in animations:
        for track in animation.tracks:
            if track.node is not None and track.target_path == "scale":
                scaled[track.node] = True
            elif track.node is not None and track.target_path == "weights":
                morphed[track.node] = True
    if not (scaled.any() or morphed.any()):
        return
    below_scaled = tree.nearest_at_or_above(scaled) >= 0
    for node in nodes:
        for is_so, what in ((morphed[node], "morphing"), (below_scaled[node], "scale")):
            if is_so:
                at = ROOT / "nodes" / node / "mesh"
                diagnostics.report(VISUAL_NOT_ANIMATED, at, what=what)


def _owners(
    tree: NodeTree, motion_node_of: IntArray, animations: tuple[Animation, ...]
) -> IntArray:
    """Owner of each node: the nearest body or animated node at or above it, -1 for none."""
    owners = motion_node_of == np.arange(len(tree))
    for animation in animations:
        for track in animation.tracks:
            if track.node is not None and track.target_path in ("translation", "rotation", "scale"):
                owners[track.node] = True
    return tree.nearest_at_or_above(owners)


def _root_of(tree: NodeTree, node: int) -> int:
    above = tree.ancestors(node)
    return above[-1] if above else node


class _Baked(Struct, frozen=True, eq=False):
    """Meshes of some parts, and the findings of making them."""

    meshes: list[VisualMesh]
    issues: tuple[Issue, ...]


class _Baker:
    """Merges the meshes of each owner; equal content shares one result.

    Results are cached in the document: scenes are planned anew whenever something changes that
    the engine cannot take in place.
    """

    def __init__(
        self,
        document: Document,
        frames: NodeFrames,
        deformation: Deformation,
        diagnostics: Diagnostics,
        files: BakedFiles,
    ) -> None:
        self._document = document
        self._files = files
        self._tree = document.tree
        self._frames = frames
        self._deformation = deformation
        self._diagnostics = diagnostics
        self._known: dict[object, _Baked] = document.derive(
            ("baked meshes", 0), lambda _: {}, Diagnostics()
        )
        self._textures: dict[object, Texture] = {}

    def bake(self, owner: Owner, nodes: list[int], skinned: list[Part]) -> list[NodeVisual]:
        """Visuals for unskinned ``nodes``, and for ``skinned`` parts given in the world.

        A body has at most one mesh; scenery may have several.
        """
        kind, number = owner
        pose = IDENTITY_POSE if kind == "root" else self._frames.pose(number)
        owner_from_world = pose.inverse().matrix()
        # Rounded far below what is visible, so that equal bodies have equal keys.
        placed = [
            (node, np.round(owner_from_world @ self._frames.world_from_node[node], 9) + 0.0)
            for node in nodes
        ]
        sink = Diagnostics()
        reader = PartReader(self._document, self._frames, self._deformation, sink)
        content = (
            kind == "body",
            *((self._tree.mesh_of[n], reader.weights(n), matrix.tobytes()) for n, matrix in placed),
        )
        all_nodes = [*nodes, *dict.fromkeys(part.node for part in skinned)]
        baked = None if skinned else self._known.get(content)
        if baked is None:
            meshes = None if skinned else self._files.read(content)
            if meshes is None:
                parts = [part for node, matrix in placed for part in reader.read(node, matrix)]
                parts += [part.moved(owner_from_world) for part in skinned]
                meshes = self._merge(parts, all_nodes, sink, is_body=kind == "body")
                if not skinned and not sink.issues:
                    self._files.write(content, meshes)
            baked = _Baked(meshes, sink.issues)
            if not skinned:
                while len(self._known) >= MOST_CACHED:
                    del self._known[next(iter(self._known))]
                self._known[content] = baked
        self._diagnostics.extend(baked.issues)
        return [
            NodeVisual(
                mesh=mesh,
                nodes=tuple(all_nodes),
                carrier=number if kind == "carrier" else None,
                world_from_mesh=pose,
            )
            for mesh in baked.meshes
        ]

    def _merge(
        self, parts: list[Part], nodes: list[int], sink: Diagnostics, *, is_body: bool
    ) -> list[VisualMesh]:
        ordinals = {node: number for number, node in enumerate(nodes)}
        pieces = []
        for part in parts:
            visible = cut_out(part, sink)
            if visible is None:
                continue
            rest, alpha = visible
            rest, paint = painted(with_back_faces(rest), sink, self._textures)
            pieces.append(Piece(part=rest, paint=paint, alpha=round(alpha * 255.0) / 255.0))
        groups = [_blended(pieces, sink)] if is_body else _apart(pieces)
        return [merged(group, ordinals, group[0].alpha, sink) for group in groups if group]


def _blended(pieces: list[Piece], diagnostics: Diagnostics) -> list[Piece]:
    """Pieces of one body, all with the same alpha."""
    if len({piece.alpha for piece in pieces}) <= 1:
        return pieces
    kept = []
    for piece in pieces:
        if piece.alpha < 1.0:
            done = "drawn opaque" if piece.alpha >= 0.5 else "left out"
            at = piece.part.material.pointer
            diagnostics.report(ALPHA_MIXED, at, alpha=piece.alpha, done=done)
        if piece.alpha >= 0.5:
            kept.append(replace(piece, alpha=1.0))
    return kept


def _apart(pieces: list[Piece]) -> list[list[Piece]]:
    """Groups of scenery that become one body each: one per alpha, and one per repeating texture."""
    groups: dict[object, list[Piece]] = {}
    for piece in pieces:
        tiled = piece.paint.texture if repeats(piece.paint) else None
        groups.setdefault((piece.alpha, tiled), []).append(piece)
    return list(groups.values())
