"""The contents of a file, read and checked without an engine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from gltf_bullet.convert import ROBOT_SUFFIXES
from gltf_bullet.convert.servo import default_servo
from gltf_bullet.convert.usd import USD_SUFFIXES
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, Severity, note, with_names
from gltf_bullet.dialects.assemble import read_physics
from gltf_bullet.dialects.earlier_names import with_present_names
from gltf_bullet.dialects.registry import (
    EXTENSION_UNSUPPORTED,
    PHYSICS_EXTENSIONS,
    check_extensions,
)
from gltf_bullet.errors import InvalidAssetError, UnsupportedAssetError
from gltf_bullet.gltf.animations import read_animations
from gltf_bullet.gltf.document import AssetSource, Document, read_document
from gltf_bullet.gltf.writing import encode_glb, self_contained
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import Visuals
from gltf_bullet.planning.scene_plan import AnimatedNodes
from gltf_bullet.records import replace
from gltf_bullet.rendering.bare_colliders import bare_colliders
from gltf_bullet.rendering.render_meshes import automatic_visuals
from gltf_bullet.scene import Animation, AnimationSampler, NodeTree
from gltf_bullet.scene.animation import AnimationTrack, Interpolation

NO_PHYSICS = note(
    "NO_PHYSICS",
    "the file has no bodies, colliders, triggers, joints or gravity: nothing of it is simulated",
)
_NOTHING: Final = PhysicsScene()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class AssetContent:
    """The contents of one glTF file; picklable."""

    path: str
    """Path as the caller named it, or ``"<memory>"``."""
    document: Document
    """The JSON and buffers of the file."""
    physics: PhysicsScene
    """All physics of the file."""
    animations: tuple[Animation, ...] = ()
    issues: tuple[Issue, ...]
    """Issues of reading; those of translating are in :attr:`Scene.issues`."""
    acted: tuple[int, ...] | None = None
    """Nodes that its behavior graph moves by name; ``None`` without a graph that can be run."""
    derived: dict[object, Any] = field(init=False, default_factory=dict)
    """Results that other modules derive from it, by keys of theirs; not pickled."""

    def __repr__(self) -> str:
        physics = self.physics
        held = f"{len(physics.motions)} motions, {len(physics.joints)} joints"
        return f"{type(self).__name__}({self.path!r}, {len(self.tree)} nodes, {held})"

    def __reduce__(self) -> tuple[object, ...]:
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return (_asset_of, (type(self), parts))

    @property
    def tree(self) -> NodeTree:
        """The nodes of the file."""
        return self.document.tree

    @property
    def automatic_visuals(self) -> Visuals:
        """The best visuals for the file: meshes, and colliders of what has none."""
        return automatic_visuals(self.document, self.physics.motions, self.physics.colliders)

    @property
    def bare_colliders(self) -> frozenset[int]:
        """Static colliders of which the file has no other picture."""
        return bare_colliders(self.document, self.physics.motions, self.physics.colliders)

    def tree_at_start(self, *, running: bool) -> NodeTree:
        """Return the nodes at the beginning of the first step.

        Args:
            running: True if the animations play from load on: their nodes begin at the first keys,
                whatever their pose in the file.
        """
        if not running or not any(t.node is not None for a in self.animations for t in a.tracks):
            return self.tree
        tree = self.tree
        parts = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
        for animation in self.animations:
            AnimationSampler(animation.tracks).sample_into(0.0, *parts)
        translations, rotations, scales = parts
        return replace(tree, translations=translations, rotations_xyzw=rotations, scales=scales)

    def animated_nodes(self, *, running: bool, acts: bool = False) -> AnimatedNodes:
        """Return the nodes that the file's animations may move.

        Args:
            running: True if they play from load on.
            acts: True if its behavior graph runs, which moves nodes, too.
        """
        marked = np.zeros(len(self.tree), dtype=bool)
        driven: set[int] = set()
        moving: set[int] = set()
        scaled: set[int] = set()
        for animation in self.animations:
            for track in animation.tracks:
                if track.node is None or track.target_path == "weights":
                    continue
                marked[track.node] = True
                (scaled if track.target_path == "scale" else moving).add(track.node)
                if running and track.target_path in ("translation", "rotation"):
                    driven.add(track.node)
        if acts and self.acted:
            marked[list(self.acted)] = True
            moving.update(self.acted)
            scaled.update(self.acted)
        moved = np.flatnonzero(self.tree.nearest_at_or_above(marked) >= 0)
        return AnimatedNodes(
            moved=frozenset(moved.tolist()),
            driven=frozenset(driven),
            moving=frozenset(moving),
            scaled=frozenset(scaled),
        )

    @property
    def lacks(self) -> tuple[Issue, ...]:
        """The issue about a file with nothing to simulate, if no other issue explains it.

        Loading does not report it: scenery may be loaded for pictures.
        """
        # A misspelt or unknown extension, or physics that cannot be used, is the cause then and has
        # an issue of its own.
        worse = [issue for issue in self.issues if issue.severity is not Severity.INFO]
        is_told = any(
            issue.code.startswith(("EXTENSION_", "EXTERNAL_")) for issue in self.issues
        ) or (
            bool(worse)
            and any(name in PHYSICS_EXTENSIONS for name in self.document.extensions_used)
        )
        is_refused = any(issue.refuses for issue in worse)
        if self.physics != _NOTHING or is_told or is_refused or self.acts:
            return ()
        found = Diagnostics()
        found.report(NO_PHYSICS, ROOT)
        return found.issues

    @property
    def acts(self) -> bool:
        """True if it has a behavior graph that can be run."""
        return self.acted is not None

    @property
    def movements(self) -> tuple[Animation, ...]:
        """All movements of nodes: the animations, and the graph as another one."""
        if not self.acted:
            return self.animations
        tracks = tuple(
            AnimationTrack(
                target_path="translation", node=node, pointer=None, times=np.zeros(1),
                values=self.tree.translations[node : node + 1], interpolation=Interpolation.STEP,
            )
            for node in self.acted
        )  # fmt: skip
        return (*self.animations, Animation(name="", tracks=tracks, duration=0.0))

    def to_glb(self) -> bytes:
        """Return the whole file, with all buffers and images that it refers to, as a ``.glb``.

        Raises:
            ContainerError: A buffer cannot be read.
        """
        return encode_glb(*self_contained(self.document, Diagnostics()))


def _asset_of(kind: type[AssetContent], parts: dict[str, Any]) -> AssetContent:
    return kind(**parts)


def read_content(source: AssetSource, diagnostics: Diagnostics) -> AssetContent:
    """Read a file; findings go to ``diagnostics``.

    Raises:
        ContainerError: No such file, not glTF, truncated, or buffers that cannot be read.
    """
    document = _read_converted(source, diagnostics) if is_converted(source) else None
    if document is None:
        document = read_document(source, diagnostics, adapt=with_present_names)
    check_extensions(document, diagnostics)
    physics = read_physics(document, diagnostics)
    animations = read_animations(document, diagnostics)
    acted = None
    if "KHR_interactivity" in document.extensions_used or document.root_extension(
        "KHR_interactivity"
    ):
        # Imported for files with a graph only: all operations take some milliseconds.
        from gltf_bullet.behavior.reading import read_graphs
        from gltf_bullet.runtime.graph_slips import report_graph_slips

        graph = read_graphs(document.json, diagnostics)
        if graph is not None:
            report_graph_slips(graph, document, physics, diagnostics)
            acted = tuple(sorted(k for k in graph.moved_nodes() if k < len(document.tree)))
    return AssetContent(
        path=document.path,
        document=document,
        physics=physics,
        animations=animations,
        issues=with_names(diagnostics.issues, document.tree.names),
        acted=acted,
    )


def is_converted(source: AssetSource) -> bool:
    """Return True for the path of a robot or a USD stage, which is converted when it is read."""
    return isinstance(source, (str, os.PathLike)) and (
        Path(os.fsdecode(source)).suffix.lower() in (*ROBOT_SUFFIXES, *USD_SUFFIXES)
    )


def _read_converted(source: Any, diagnostics: Diagnostics) -> Document | None:
    """Read the glTF that a file becomes; ``None`` if it cannot be opened."""
    # Imported for such files only: URDF and SDF are read by PyBullet.
    from gltf_bullet.runtime.robot_conversion import convert_robot

    try:
        file = convert_robot(source, diagnostics, servo=default_servo(source))
    except OSError:
        return None
    document = read_document(encode_glb(file.root, file.buffers), diagnostics)
    return replace(document, path=os.fsdecode(source))


def read_usable(source: AssetSource) -> AssetContent:
    """Read a file that can be used; without PyBullet, which prints to the terminal when imported.

    Raises:
        AssetError: The file cannot be used.
    """
    return require_usable(read_content(source, Diagnostics()))


def require_usable(content: AssetContent) -> AssetContent:
    """Return the content unless an issue refuses it.

    Raises:
        UnsupportedAssetError: It requires an extension that is not known.
        InvalidAssetError: It has other errors for which a file is not loaded.
    """
    errors = [issue for issue in content.issues if issue.refuses]
    if any(issue.kind is EXTENSION_UNSUPPORTED for issue in errors):
        raise UnsupportedAssetError(content.path, content.issues)
    if errors:
        raise InvalidAssetError(content.path, content.issues)
    return content
