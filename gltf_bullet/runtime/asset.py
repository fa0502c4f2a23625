"""A file that was read: parse once, check without an engine, instantiate many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, Issue, Severity
from gltf_bullet.dialects.assemble import read_physics
from gltf_bullet.dialects.registry import EXTENSION_UNSUPPORTED, check_extensions
from gltf_bullet.errors import AssetError, InvalidAssetError, UnsupportedAssetError
from gltf_bullet.gltf.animations import read_animations
from gltf_bullet.gltf.document import AssetSource, Document, read_document
from gltf_bullet.gltf.writing import encode_glb, self_contained
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.collision_meshes import collision_mesh
from gltf_bullet.planning.world_plan import AnimatedNodes, plan_world, within
from gltf_bullet.rendering.render_meshes import plan_visuals
from gltf_bullet.runtime.placement import Placement, UpAxis
from gltf_bullet.scene import Animation, NodeFrames, NodeTree

if TYPE_CHECKING:
    # Reading and checking work where PyBullet is not installed.
    from gltf_bullet.bullet.client import PhysicsClient
    from gltf_bullet.runtime.scene import Scene

__all__ = ["Asset", "Report", "check", "read_asset"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Asset:
    """One glTF file, read and checked; free of any engine and picklable."""

    document: Document
    physics: PhysicsScene
    animations: tuple[Animation, ...] = ()
    issues: tuple[Issue, ...]
    """What reading found; translating adds its own to :attr:`Scene.issues`."""

    @property
    def path(self) -> str:
        """The file as the caller named it, or ``"<memory>"``."""
        return self.document.path

    @property
    def tree(self) -> NodeTree:
        """The nodes of the file."""
        return self.document.tree

    def animated_nodes(self, *, running: bool) -> AnimatedNodes:
        """What the file's animations may move; ``running``: whether they play from load on."""
        marked = np.zeros(len(self.tree), dtype=bool)
        driven: set[int] = set()
        for animation in self.animations:
            for track in animation.tracks:
                if track.node is None or track.target_path == "weights":
                    continue
                marked[track.node] = True
                if running and track.target_path in ("translation", "rotation"):
                    driven.add(track.node)
        moved = np.flatnonzero(self.tree.nearest_at_or_above(marked) >= 0)
        return AnimatedNodes(moved=frozenset(moved.tolist()), driven=frozenset(driven))

    def to_glb(self) -> bytes:
        """The whole file, with all buffers and images that it refers to, as a ``.glb``.

        Raises:
            ContainerError: A buffer cannot be read.
        """
        return encode_glb(*self_contained(self.document, Diagnostics()))

    def instantiate(
        self,
        physics_client: PhysicsClient = 0,
        *,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        scale: float = 1.0,
        up_axis: UpAxis = "z",
        scene_index: int | None = None,
        options: LoadOptions | None = None,
    ) -> Scene:
        """Put the asset into a PyBullet world; see :func:`gltf_bullet.load_gltf`."""
        from gltf_bullet.runtime.scene import Scene  # the scene knows its asset, not the reverse

        return Scene.create(
            self,
            physics_client,
            placement=Placement.of(position, orientation, scale, up_axis),
            scene_index=scene_index,
            options=options or LoadOptions(),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """What :func:`check` found: everything wrong with a file and everything approximated."""

    path: str
    issues: tuple[Issue, ...] = field(default=())

    @property
    def is_usable(self) -> bool:
        """Whether the file loads: no issue of severity ERROR."""
        return not self.errors

    @property
    def errors(self) -> tuple[Issue, ...]:
        """Findings that make the file unusable."""
        return self._of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Issue, ...]:
        """Where meaning is lost or approximated."""
        return self._of(Severity.WARNING)

    def _of(self, severity: Severity) -> tuple[Issue, ...]:
        return tuple(issue for issue in self.issues if issue.severity is severity)

    def to_dict(self) -> dict[str, object]:
        """The report as JSON-ready values."""
        return {
            "path": self.path,
            "usable": self.is_usable,
            "issues": [
                {
                    "code": issue.code,
                    "severity": issue.severity.name.lower(),
                    "pointer": str(issue.pointer),
                    "message": issue.message,
                }
                for issue in self.issues
            ],
        }


def read_asset(source: AssetSource) -> Asset:
    """Read a glTF file without an engine.

    Args:
        source: A path, bytes, a binary file object or a ``pygltflib.GLTF2``.

    Raises:
        ContainerError: No such file, not glTF, truncated, or buffers that cannot be read.
        UnsupportedAssetError: The file requires an extension that is not implemented.
        InvalidAssetError: Findings of severity ERROR; all of them are listed.
    """
    diagnostics = Diagnostics()
    asset = _read(source, diagnostics)
    errors = [issue for issue in diagnostics if issue.is_error]
    if any(issue.kind is EXTENSION_UNSUPPORTED for issue in errors):
        raise UnsupportedAssetError(asset.path, diagnostics.issues)
    if errors:
        raise InvalidAssetError(asset.path, diagnostics.issues)
    return asset


def _read(source: AssetSource, diagnostics: Diagnostics) -> Asset:
    document = read_document(source, diagnostics)
    check_extensions(document, diagnostics)
    physics = read_physics(document, diagnostics)
    animations = read_animations(document, diagnostics)
    return Asset(
        document=document, physics=physics, animations=animations, issues=diagnostics.issues
    )


def check(source: AssetSource, *, options: LoadOptions | None = None) -> Report:
    """Find everything wrong with a file and everything that Bullet will approximate.

    Runs without an engine and never raises on content. Concave moving meshes are decomposed, as
    they would be at load.
    """
    diagnostics = Diagnostics()
    try:
        asset = _read(source, diagnostics)
    except AssetError as error:
        return Report(path=error.path, issues=error.issues)
    if not diagnostics.has_errors:
        tree = asset.tree
        frames = NodeFrames.at_load(tree, np.eye(4), np.array([0.0, 0.0, 0.0, 1.0]))
        wanted = options or LoadOptions()
        world = plan_world(
            within(asset.physics, tree.nodes_of_scene(None)),
            tree,
            frames,
            lambda shape: collision_mesh(
                shape, asset.document, frames.world_from_node, diagnostics
            ),
            wanted,
            diagnostics,
            asset.animated_nodes(running=wanted.play_animations),
        )
        if wanted.visuals == "mesh":
            plan_visuals(
                asset.document,
                frames,
                world.motion_node_of,
                None,
                wanted,
                diagnostics,
                asset.animations,
            )
    return Report(path=asset.path, issues=diagnostics.issues)
