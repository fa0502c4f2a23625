"""PyBullet worlds and robots as glTF files: read, described, checked by our own reader, written."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from gltf_bullet.bullet.reading.world_reader import read_bodies, read_world
from gltf_bullet.bullet.session import EngineLink, PhysicsClient, require_client
from gltf_bullet.bullet.world_lock import world_lock
from gltf_bullet.convert.description import StatedSurface, WorldDescription
from gltf_bullet.convert.issues import NOT_IN_USD
from gltf_bullet.convert.servo import Servo
from gltf_bullet.convert.stated_scenes import JointOfFile, PartOfFile, SceneOfFile, with_scenes
from gltf_bullet.convert.usd import USD_SUFFIXES
from gltf_bullet.convert.usd.process import require_openusd
from gltf_bullet.convert.writer import WorldFile
from gltf_bullet.diagnostics import Diagnostics, Issue
from gltf_bullet.gltf.writing import encode_glb
from gltf_bullet.model import MotionKind
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan
from gltf_bullet.planning.mass_planner import (
    INERTIA_LIMITED,
    INERTIA_UNDEFINED,
    MASS_UNDEFINED,
    VELOCITY_LIMITED,
)
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.robot_conversion import convert_robot, finite_file
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.translation import translate_at
from gltf_bullet.runtime.worlds.live_scenes import idle_axes, scenes_among
from gltf_bullet.runtime.worlds.scene_losses import report_losses

# --- Facts of a scene's file about its bodies and joints, in their present state ------------------


def scene_of_file(core: SceneCore, number: int) -> SceneOfFile:
    """Return the bodies and joints of a scene; ``number`` identifies it among others."""
    world, tree, frames = core.world, core.asset.tree, core.nodes.frames_now()
    contacts = world.link_contacts
    contents = dict(world.solid_links())

    def surface_of(link: EngineLink) -> StatedSurface | None:
        content: ColliderGroup | StaticPlan | None = contents.get(link)
        if content is None or content.surface.only_against is not None:
            return None
        return StatedSurface(
            scene=number,
            material=content.material if contacts.is_untouched(link) else None,
            filter=content.filter,
            outward=content.surface.contact_class.filter,
        )

    def part(node: int, links: list[EngineLink], gravity_factor: float = 1.0) -> PartOfFile:
        motion = core.model.now.motions.get(node)
        return PartOfFile(
            name=tree.names[node],
            world_from_part=frames.pose(node),
            surfaces={link: surface_of(link) for link in links},
            bits={link: contacts.bits_of(link) for link in links if link in contents},
            gravity_factor=gravity_factor,
            is_kinematic=motion is not None and motion.kind is MotionKind.KINEMATIC,
            is_infinite=motion is not None and motion.mass == math.inf,
        )

    parts: list[PartOfFile] = []
    part_of: dict[int, int] = {}
    for node, body in world.static_ids.items():
        part_of[node] = len(parts)
        parts.append(part(node, [(body, -1)]))
    part_of_motion: dict[int, int] = {}
    for node, plan in world.plan.bodies.anywhere.items():
        part_of_motion[node] = len(parts)
        parts.append(part(node, world.links_of(node), plan.gravity_factor))

    def end_of(node: int | None) -> int:
        """Return the part that a node belongs to; -1: the world."""
        if node is None:
            return -1
        owner = int(world.plan.motion_node_of[node])
        if owner >= 0:
            return part_of_motion[owner]
        return next((part_of[n] for n in (node, *tree.ancestors(node)) if n in part_of), -1)

    joints = []
    for joint in core.model_now().joints.values():
        other = joint.connected_node
        # Without a connected node, a joint is attached where its own node was when it was made.
        there = world.plan.frames.pose(joint.node) if other is None else frames.pose(other)
        joints.append(
            JointOfFile(
                name=tree.names[joint.node],
                joint=joint,
                ends=(end_of(joint.node), end_of(other)),
                world_from_ends=(frames.pose(joint.node), there),
                leader="" if joint.coupling is None else tree.names[joint.coupling.leader],
            )
        )
    shown = {link.body_id for link in world.shown_links.scenery}
    return SceneOfFile(
        parts=tuple(parts), joints=tuple(joints), body_ids=frozenset(world.body_ids) - shown
    )


def export_world(
    path: str | os.PathLike[str],
    physics_client: PhysicsClient = 0,
    bodies: Sequence[int] | None = None,
    *,
    self_collision: bool | Collection[int] | None = None,
) -> tuple[Issue, ...]:
    """Write the bodies and constraints of any PyBullet world as glTF with its physics.

    The world may be made by ``loadURDF``, ``loadMJCF``, ``loadSDF`` or ``createMultiBody``. Shapes,
    masses, joints, limits, friction, velocities and gravity are KHR_physics_rigid_bodies over
    KHR_implicit_shapes (and OMI_physics_gravity); the world itself is not changed.

    Scenes of this library are written as their files have them, drives and materials included, if
    all of their bodies are written and the scene object still exists.

    Some things PyBullet does not return in any way, so that no issue names their loss: motors that
    have exerted nothing yet (before the first step, all of them), forces for the coming step,
    ``setCollisionFilterPair``, ``collisionFilterMode=0``, ``linearDamping`` and ``angularDamping``
    of multibodies, ``maxJointVelocity``, ``jointLimitForce``, and textures of
    ``changeVisualShape``.

    Args:
        path: Ends in ``.glb`` or ``.gltf``, or is a USD stage (extra ``usd``); written whole or not
            at all.
        physics_client: A client id or a ``BulletClient``.
        bodies: Ids of the bodies to write; ``None``: all. Constraints between them are included.
        self_collision: Bodies whose own links may touch each other, or all or none of them:
            PyBullet does not return it. ``None``: those that touch themselves at present.

    Returns:
        Issues about what PyBullet does not return, and what glTF cannot express.

    Raises:
        EngineError: The client is not connected, or a body does not exist, also one that
            ``self_collision`` names.
        InvalidAssetError: A place, velocity or size of the world is no finite number.
        ValueError: Another suffix.
        OSError: The file cannot be written.
    """
    client_id = require_client(physics_client)
    is_stage = Path(path).suffix.lower() in USD_SUFFIXES
    if not is_stage:
        require_gltf_suffix(path)
    diagnostics = Diagnostics()
    with world_lock(client_id):
        world = world_with_scenes(client_id, bodies, diagnostics, self_collision=self_collision)
    file, asset = checked_file(world, diagnostics)
    if is_stage:
        write_usd(asset, path, diagnostics)
    else:
        file.write(path)
    return diagnostics.issues


def world_with_scenes(
    client_id: int,
    bodies: Sequence[int] | None,
    diagnostics: Diagnostics,
    *,
    self_collision: bool | Collection[int] | None = None,
) -> WorldDescription:
    """Describe a world by PyBullet's calls, but bodies and joints of scenes by their files.

    A scene without all of its bodies, or whose object is gone, is described by PyBullet's calls.
    """
    ids = read_bodies(client_id, bodies)
    live = scenes_among(client_id, ids)
    whole = [scene.core for scene in live if scene.core and set(scene.body_ids) <= set(ids)]
    for scene in live:
        report_losses(scene, diagnostics, is_whole=scene.core in whole)
    scenes = [scene_of_file(core, number) for number, core in enumerate(whole)]
    world = read_world(
        client_id,
        bodies,
        diagnostics,
        self_collision=self_collision,
        without=[number for core in whole for number in core.world.own_constraints],
        idle_axes=idle_axes(live),
    )
    return with_scenes(world, ids, scenes, diagnostics)


def robot_file(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics,
    *,
    fixed_base: bool = False,
    self_collision: bool = False,
    inertia_from_file: bool = False,
    keyframe: str | None = None,
    allowed: Iterable[str | os.PathLike[str]] = (),
    servo: Servo | None = None,
) -> tuple[WorldFile, Asset]:
    """Convert a robot (.urdf, .sdf, MJCF .xml, USD) to a glTF document, and read that.

    Args:
        path: The file.
        diagnostics: Receives what is lost.
        fixed_base: URDF: the base is fixed.
        self_collision: Links of one body collide, except neighbours.
        inertia_from_file: URDF: use the inertias that the file states.
        keyframe: MJCF: name or number of the keyframe that it starts at; ``None``: at ``qpos0``.
        allowed: Folders, besides its own and ROS packages, that it may name files in.
        servo: Gains of drives that hold the axes; ``None``: drives as the file states them.

    Raises:
        ContainerError: It is no robot, or cannot be loaded.
        InvalidAssetError: PyBullet's numbers for it are not finite.
        OSError: It cannot be read.
        ValueError: There is no such keyframe.
    """
    file = convert_robot(
        path,
        diagnostics,
        fixed_base=fixed_base,
        self_collision=self_collision,
        inertia_from_file=inertia_from_file,
        keyframe=keyframe,
        allowed=allowed,
        servo=servo,
    )
    return file, _read_again(file, diagnostics)


def checked_file(
    world: WorldDescription, diagnostics: Diagnostics, servo: Servo | None = None
) -> tuple[WorldFile, Asset]:
    """Write ``world`` as a document and read it by our own reader.

    Errors that the reader finds are added to ``diagnostics``.

    Raises:
        InvalidAssetError: A number of it is not finite.
    """
    file = finite_file(world, diagnostics, servo)
    return file, _read_again(file, diagnostics)


def _read_again(file: WorldFile, diagnostics: Diagnostics) -> Asset:
    """Read a document by our own reader; see :func:`checked_file`."""
    asset = read_asset(encode_glb(file.root, file.buffers))
    diagnostics.extend([issue for issue in asset.issues if issue.is_error])
    return asset


_STATED: Final = (MASS_UNDEFINED, INERTIA_UNDEFINED, INERTIA_LIMITED, VELOCITY_LIMITED)
"""Decisions of translating that a stage states."""


def write_usd(asset: AssetContent, path: str | os.PathLike[str], diagnostics: Diagnostics) -> None:
    """Write an asset as a stage of OpenUSD, in metres, kilograms and Y up.

    Args:
        asset: The file, of any dialect; animations become time samples.
        path: Ends in ``.usd``, ``.usda``, ``.usdc`` or ``.usdz``.
        diagnostics: Receives what OpenUSD lacks.

    Raises:
        ContainerError: OpenUSD is not installed.
        InvalidAssetError: Content turned out unusable while translating.
        OSError: A file cannot be written.
    """
    require_openusd(str(path), diagnostics)
    from gltf_bullet.convert.usd.losses import Losses
    from gltf_bullet.convert.usd.stage_writer import StageSource, write_stage

    # The triangles of concave meshes are written, so that nothing is decomposed.
    options = LoadOptions(concave="bvh", visuals="none")
    translation = translate_at(asset, Placement.of(up_axis="y"), options)
    translation.require_usable(strict=False)
    diagnostics.extend([issue for issue in translation.issues if issue.kind in _STATED])
    losses = Losses(NOT_IN_USD)
    source = StageSource(
        document=asset.document,
        tree=asset.tree_at_start(running=True),
        physics=translation.physics(asset),
        plan=translation.plan,
        animations=asset.animations,
        has_graph=asset.acts,
    )
    write_stage(source, Path(path), losses, diagnostics)
    losses.report(diagnostics)


def require_gltf_suffix(path: str | os.PathLike[str]) -> None:
    """Raise ``ValueError`` for a path of another kind of file."""
    if Path(path).suffix.lower() not in (".glb", ".gltf"):
        raise ValueError(f"path is {str(path)!r}; must end in .glb or .gltf")
