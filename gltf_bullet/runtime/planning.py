"""From a read asset and a placement to everything that will be created, or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.diagnostics import Diagnostics, Issue, Severity
from gltf_bullet.errors import InvalidAssetError, TranslationError
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.collision_meshes import Deformation, collision_mesh
from gltf_bullet.planning.world_plan import WorldPlan, plan_world, within
from gltf_bullet.rendering.render_meshes import plan_visuals
from gltf_bullet.rendering.visual_plans import NO_VISUALS, VisualPlans
from gltf_bullet.runtime.asset import Asset
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.scene import NodeFrames

__all__ = ["ScenePlan", "first_plan", "plan_scene"]

_KEPT_PLANS = 4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScenePlan:
    """What one scene will put into a world."""

    world: WorldPlan
    visuals: VisualPlans
    frames: NodeFrames
    """Where the nodes stand when it is created."""
    issues: tuple[Issue, ...]
    """Findings of translating."""


def first_plan(
    asset: Asset, placement: Placement, scene_index: int | None, options: LoadOptions
) -> tuple[PhysicsScene, ScenePlan]:
    """The physics and the plan of a fresh scene; the same again for the same request.

    Environments make one asset many times at one place, each in a world of its own; planning is
    half the price of a scene. The last few plans are kept with the document.

    Raises:
        InvalidAssetError: Content turned out unusable while translating.
        TranslationError: ``options.strict`` and the engine would approximate.
    """
    plans: dict[object, tuple[PhysicsScene, ScenePlan]] = asset.document.derive(
        ("scene plans", 0), lambda _: {}, Diagnostics()
    )
    key = (
        placement.position.tobytes(), placement.rotation_xyzw.tobytes(), placement.scale,
        scene_index, options, id(asset.physics),
    )  # fmt: skip
    if key not in plans:
        tree = asset.tree
        frames = NodeFrames.at_load(tree, placement.matrix, placement.rotation_xyzw)
        physics = within(asset.physics, tree.nodes_of_scene(scene_index))
        plan = plan_scene(asset, physics, frames, scene_index, options)
        while len(plans) >= _KEPT_PLANS:
            del plans[next(iter(plans))]
        plans[key] = physics, plan
    return plans[key]


def plan_scene(
    asset: Asset,
    physics: PhysicsScene,
    frames: NodeFrames,
    scene_index: int | None,
    options: LoadOptions,
    deformation: Deformation | None = None,
) -> ScenePlan:
    """Plan a scene.

    Args:
        asset: The file.
        physics: The part of its physics that is simulated, possibly edited.
        frames: Where the nodes stand.
        scene_index: The glTF scene whose meshes are shown; ``None``: the file's default.
        options: Choices that the file cannot make.
        deformation: Morph weights other than the authored ones.

    Raises:
        InvalidAssetError: Content turned out unusable while translating.
        TranslationError: ``options.strict`` and the engine would approximate.
    """
    diagnostics = Diagnostics()
    world = plan_world(
        physics,
        asset.tree,
        frames,
        lambda shape: collision_mesh(
            shape, asset.document, frames.world_from_node, diagnostics, deformation
        ),
        options,
        diagnostics,
        asset.animated_nodes(running=options.play_animations),
    )
    visuals = NO_VISUALS
    if options.visuals == "mesh":
        visuals = plan_visuals(
            asset.document,
            frames,
            world.motion_node_of,
            scene_index,
            options,
            diagnostics,
            asset.animations,
            deformation,
        )
    if diagnostics.has_errors:
        raise InvalidAssetError(asset.path, diagnostics.issues)
    lost = [issue for issue in diagnostics if issue.severity is Severity.WARNING]
    if options.strict and lost:
        raise TranslationError(asset.path, lost)
    return ScenePlan(world=world, visuals=visuals, frames=frames, issues=diagnostics.issues)
