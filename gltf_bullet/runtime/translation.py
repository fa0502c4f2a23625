"""Translation of a file's contents to plans of all to be created, for load, check and inspect."""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.diagnostics import Diagnostics, Issue, Severity, with_names
from gltf_bullet.errors import InvalidAssetError, TranslationError
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_plans import changed
from gltf_bullet.planning.moved_plans import moved_plan
from gltf_bullet.planning.scene_plan import ScenePlan, plan_scene, within, within_reach
from gltf_bullet.planning.shapes.collision_meshes import Deformation, collision_mesh
from gltf_bullet.records import replace
from gltf_bullet.rendering.render_meshes import plan_visuals
from gltf_bullet.rendering.visual_plans import NO_VISUALS, VisualPlans
from gltf_bullet.runtime.animation.pointer_tracks import check_pointer_tracks
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.scene import NodeFrames


@dataclass(frozen=True, eq=False, kw_only=True)
class Translation:
    """The plans of one scene, and the issues about what is lost."""

    path: str
    part: PhysicsScene | None
    """The physics that is simulated; ``None``: all of the file's, as read."""
    plan: ScenePlan
    visuals: VisualPlans
    issues: tuple[Issue, ...]
    """Issues of translating."""

    def physics(self, asset: AssetContent) -> PhysicsScene:
        """Return the simulated physics; ``asset``: the file of this translation."""
        return asset.physics if self.part is None else self.part

    def moved(self, frames: NodeFrames) -> Translation:
        """Return the translation at another position; ``frames`` are those of the plan, moved."""
        if frames.unmoved is None:
            return self
        visuals = self.visuals
        if visuals.scenery:
            visuals = visuals.moved(frames.offset)
        return changed(self, plan=moved_plan(self.plan, frames), visuals=visuals)

    def require_usable(self, *, strict: bool) -> Translation:
        """Return this translation if a scene can be made of it.

        Raises:
            InvalidAssetError: Content turned out unusable while translating.
            TranslationError: ``strict`` and the engine would approximate.
        """
        if any(issue.refuses for issue in self.issues):
            raise InvalidAssetError(self.path, self.issues)
        lost = [issue for issue in self.issues if issue.severity is not Severity.INFO]
        if strict and lost:
            raise TranslationError(self.path, lost)
        return self


def translate_at(asset: AssetContent, placement: Placement, options: LoadOptions) -> Translation:
    """Translate a file as it is, with a placement in the world; never raise on content.

    Raises:
        ValueError: The file has no such scene.
    """
    tree = asset.tree
    index = placement.scene_index
    if index is not None and not 0 <= index < len(tree.scenes):
        raise ValueError(f"scene_index is {index}; the file has {len(tree.scenes)} scenes")
    start = asset.tree_at_start(running=options.play_animations)
    frames = NodeFrames.at_load(start, placement.at_origin().matrix, placement.rotation_xyzw).moved(
        placement.offset
    )
    found = Diagnostics()
    physics = within(asset.physics, tree.nodes_of_scene(index), found)
    check_pointer_tracks(asset.animations, physics, found)
    translation = translate(asset, physics, frames, index, options)
    issues = with_names((*translation.issues, *found.issues), tree.names)
    return replace(translation, issues=issues)


def translate(
    asset: AssetContent,
    physics: PhysicsScene,
    frames: NodeFrames,
    scene_index: int | None,
    options: LoadOptions,
    deformation: Deformation | None = None,
) -> Translation:
    """Plan bodies and pictures; never raise on content.

    Args:
        asset: The file.
        physics: The part of its physics that is simulated, possibly edited.
        frames: Frames of the nodes.
        scene_index: The glTF scene whose meshes are shown; ``None``: the file's default.
        options: Choices that the file cannot make.
        deformation: Morph weights other than the authored ones.
    """
    diagnostics = Diagnostics()
    place = within_reach(frames, diagnostics)
    frames = place.unmoved or place
    plan = plan_scene(
        physics,
        asset.tree,
        frames,
        lambda shape: collision_mesh(
            shape, asset.document, frames.world_from_node, diagnostics, deformation
        ),
        options,
        diagnostics,
        asset.animated_nodes(running=options.play_animations, acts=options.behavior),
    )
    visuals = NO_VISUALS
    if options.visuals in ("mesh", "auto"):
        visuals = plan_visuals(
            asset.document,
            frames,
            plan.motion_node_of,
            scene_index,
            options,
            diagnostics,
            asset.movements if options.behavior else asset.animations,
            deformation,
        )
    if options.visuals == "auto":
        visuals = replace(visuals, bare=asset.bare_colliders)
    return Translation(
        path=asset.path,
        part=None if physics is asset.physics else physics,
        plan=plan,
        visuals=visuals,
        issues=diagnostics.issues,
    ).moved(place)
