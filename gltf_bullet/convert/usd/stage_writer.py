"""The physics of a glTF file as a stage of OpenUSD: nodes become prims, axes stay Y up, units SI.

Nodes keep their tree, except that bodies below other bodies stand beside them: UsdPhysics takes
what is below a body for a part of it. Shapes collide as prims of their own, which nobody draws.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec import field as msgspec_field
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, UsdUtils

from gltf_bullet import model
from gltf_bullet.convert.usd.joint_writer import JointEnd, solved, write_joints
from gltf_bullet.convert.usd.look_writer import LookWriter
from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.convert.usd.shape_writer import ShapeWriter
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.output_files import written_aside
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.scene import Animation, AnimationSampler, NodeTree
from gltf_bullet.scene.animation import Interpolation
from gltf_bullet.transforms import (
    FloatArray,
    matrices_from_quats,
    matrices_from_trs,
    quats_from_matrices,
    split_linear,
)

_ROOT: Final = "/World"
_DEGREES: Final = 180.0 / math.pi
_FRAMES: Final = 60.0
"""[1/s] Time codes, and samples of curved movements, per second."""
_SINGULAR: Final = 1e-12
_SHEAR: Final = 1e-6
"""Largest cosine between axes that counts as none."""
_RESERVED: Final = re.compile(r"\W")


class StageSource(Struct, frozen=True, kw_only=True):
    """A file and what is simulated of it, in its own axes."""

    document: Document
    tree: NodeTree
    """The nodes as the simulation starts."""
    physics: model.PhysicsScene
    plan: ScenePlan
    animations: Sequence[Animation] = ()
    has_graph: bool = False
    """True if it has a behavior graph."""


def write_stage(source: StageSource, path: Path, losses: Losses, diagnostics: Diagnostics) -> None:
    """Write a file as ``.usda``, ``.usdc``, ``.usd`` or ``.usdz``.

    Textures are written to a folder beside the stage; a ``.usdz`` has them inside.

    Args:
        source: The file.
        path: The stage to write.
        losses: Receives what OpenUSD lacks.
        diagnostics: Receives findings of reading meshes and images.

    Raises:
        OSError: A file cannot be written.
    """
    writer = _Writer(source, f"{path.stem}_textures", losses, diagnostics)
    writer.write()
    layer, pictures = writer.stage.GetRootLayer(), writer.looks.pictures
    if path.suffix.lower() == ".usdz":
        import tempfile

        with (
            written_aside(path) as aside,
            tempfile.TemporaryDirectory(dir=scratch_folder()) as name,
        ):
            inner = Path(name) / f"{path.stem}.usdc"
            _write_pictures(Path(name), pictures)
            layer.Export(str(inner))
            if not UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(inner)), str(aside)):
                raise OSError(f"OpenUSD cannot write {path}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_pictures(path.parent, pictures)
    with written_aside(path) as aside:
        if not layer.Export(str(aside)):
            raise OSError(f"OpenUSD cannot write {path}")


def _write_pictures(folder: Path, pictures: Mapping[str, bytes]) -> None:
    for name, data in pictures.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_aside(target) as aside:
            aside.write_bytes(data)


class _Collision(Struct):
    """A collider or trigger that was written."""

    path: str
    filter: model.CollisionFilter | None


class _Names(Struct):
    """Names of prims, each once below its parent."""

    used: dict[str, set[str]] = msgspec_field(default_factory=dict)

    def child(self, parent: str, name: str) -> str:
        """A path below ``parent`` that is free."""
        plain = _RESERVED.sub("_", name) or "node"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        if not Sdf.Path.IsValidIdentifier(plain):
            plain = re.sub(_RESERVED.pattern, "_", plain, flags=re.ASCII)
        taken = self.used.setdefault(parent, set())
        found, number = plain, 1
        while found in taken:
            number += 1
            found = f"{plain}_{number}"
        taken.add(found)
        return f"{parent}/{found}"


class _Writer:
    """Writes one file to a stage in memory."""

    def __init__(
        self, source: StageSource, folder: str, losses: Losses, diagnostics: Diagnostics
    ) -> None:
        self._source, self._tree = source, source.tree
        self._physics, self._plan = source.physics, source.plan
        self._losses, self._diagnostics = losses, diagnostics
        self._world = source.plan.frames.world_from_node
        self._bodies = {
            node: plan
            for node, plan in source.plan.bodies.bodies.items()
            if plan.kind is not model.MotionKind.STATIC
        }
        marked = np.zeros(len(self._tree), dtype=bool)
        marked[list(self._bodies)] = True
        self._body_of = self._tree.nearest_at_or_above(marked)
        self._names = _Names()
        self._paths: dict[int, str] = {}
        self._inner: dict[int, str] = {}
        """Paths that the content of a node is below: its prim's, but for bodies with shear."""
        self._prim_from_node: dict[int, FloatArray] = {}
        """Scale and shear of the content of bodies with shear."""
        self._above: dict[int, int] = {}
        """Node of the prim above each written node; -1 for the root."""
        self._collisions: dict[int, _Collision] = {}
        self._materials: dict[model.PhysicsMaterial, Any] = {}
        self._scope = ""
        self._ops: dict[int, tuple[Any, ...]] = {}
        self.stage = Usd.Stage.CreateInMemory()
        self._shapes = ShapeWriter(self.stage, source.document, source.plan, losses, diagnostics)
        self.looks = LookWriter(
            self.stage, self._names.child, source.document, folder, losses, diagnostics
        )

    def write(self) -> None:
        """Write everything."""
        stage = self.stage
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(_FRAMES)
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, _ROOT).GetPrim())
        self._write_scene()
        self._write_nodes()
        for node in self._bodies:
            self._write_body(node)
        self._write_filters()
        write_joints(
            stage, self._names.child, self._physics, self._ends, self._plan.frames,
            {node: plan.mass for node, plan in self._bodies.items()
             if plan.kind is model.MotionKind.DYNAMIC},
            self._source.document, self._losses,
        )  # fmt: skip
        self._write_movement()
        self._report_rest()

    def _write_scene(self) -> None:
        scene = UsdPhysics.Scene.Define(self.stage, self._names.child(_ROOT, "physicsScene"))
        gravity = self._physics.world_gravity
        if gravity is not None:
            scene.CreateGravityDirectionAttr(Gf.Vec3f(*gravity.direction))
            scene.CreateGravityMagnitudeAttr(gravity.gravity)

    # --- nodes ----------------------------------------------------------------------------------

    def _write_nodes(self) -> None:
        kept = self._kept()
        inside = self._tree.nodes_of_scene(None)
        for nodes in self._tree.levels:
            for node in nodes.tolist():
                if kept[node] and inside[node]:
                    self._write_node(node)

    def _kept(self) -> list[bool]:
        """Nodes that become prims: all but the frames of joints, which joints hold themselves."""
        tree, physics = self._tree, self._physics
        frames = {j.node for j in physics.joints.values()}
        frames |= {
            j.connected_node for j in physics.joints.values() if j.connected_node is not None
        }
        kept = [
            node not in frames or tree.mesh_of[node] is not None
            or node in physics.motions or node in physics.colliders or node in physics.triggers
            for node in range(len(tree))
        ]  # fmt: skip
        for nodes in reversed(tree.levels):
            for node in nodes.tolist():
                parent = int(tree.parents[node])
                if parent >= 0 and kept[node] and node not in self._bodies:
                    kept[parent] = True
        return kept

    def _write_node(self, node: int) -> None:
        tree = self._tree
        above = int(tree.parents[node])
        if node in self._bodies:
            while above >= 0 and self._body_of[above] >= 0:
                above = int(tree.parents[above])
            if above >= 0 and abs(np.linalg.det(self._world[above][:3, :3])) < _SINGULAR:
                above = -1
        while above >= 0 and above not in self._paths:
            above = int(tree.parents[above])
        if node in self._bodies and split_linear(self._world[node][:3, :3])[2] > _SHEAR:
            # UsdPhysics has no bodies with shear: it is that of a prim within.
            above = -1
            rigid = self._plan.frames.pose(node).matrix()
            self._prim_from_node[node] = solved(rigid, self._world[node])
        self._above[node] = above
        parent = _ROOT if above < 0 else self._inner[above]
        path = self._names.child(parent, tree.names[node] or f"node_{node}")
        self._paths[node] = self._inner[node] = path
        prim = UsdGeom.Xform.Define(self.stage, path)
        if tree.names[node]:
            prim.GetPrim().SetDisplayName(tree.names[node])
        self._place(prim, node)
        if node in self._prim_from_node:
            self._inner[node] = path = self._names.child(path, "sheared")
            inner = UsdGeom.Xform.Define(self.stage, path)
            inner.AddTransformOp().Set(_matrix4d(self._prim_from_node[node]))
        mesh = tree.mesh_of[node]
        if mesh is not None:
            self.looks.write(path, mesh)
        collider = self._physics.colliders.get(node)
        if collider is not None:
            material = collider.material or model.DEFAULT_MATERIAL
            self._write_collider(node, collider.shape, collider.filter, material)
        trigger = self._physics.triggers.get(node)
        if trigger is not None and trigger.shape is not None:
            self._write_collider(node, trigger.shape, trigger.filter, None)
        elif trigger is not None:
            self._losses.lost("a trigger of several shapes", path, "its parts are triggers")

    def _place(self, prim: Any, node: int) -> None:
        above, tree = self._above[node], self._tree
        if above != int(tree.parents[node]) or node in self._prim_from_node:
            matrix = prim.AddTransformOp()
            matrix.Set(_matrix4d(self._local(node, self._world)))
            self._ops[node] = (matrix,)
            return
        double = UsdGeom.XformOp.PrecisionDouble
        ops = (prim.AddTranslateOp(double), prim.AddOrientOp(double), prim.AddScaleOp(double))
        x, y, z, w = tree.rotations_xyzw[node].tolist()
        ops[0].Set(Gf.Vec3d(*tree.translations[node].tolist()))
        ops[1].Set(Gf.Quatd(w, x, y, z))
        ops[2].Set(Gf.Vec3d(*tree.scales[node].tolist()))
        self._ops[node] = ops

    def _local(self, node: int, world: FloatArray) -> FloatArray:
        """The transform of a prim relative to the one above it."""
        own = world[node]
        if node in self._prim_from_node:
            own = own @ np.linalg.pinv(self._prim_from_node[node])
        above = self._above[node]
        return own if above < 0 else solved(world[above], own)

    def _frame(self, node: int) -> FloatArray:
        """world_from_prim of a body, shape [4, 4]."""
        if node in self._prim_from_node:
            return self._plan.frames.pose(node).matrix()
        return np.asarray(self._world[node])

    # --- bodies ---------------------------------------------------------------------------------

    def _write_body(self, node: int) -> None:
        plan, path, motion = self._bodies[node], self._paths[node], self._physics.motions[node]
        prim = self.stage.GetPrimAtPath(path)
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        above = np.eye(3) if self._above[node] < 0 else self._world[self._above[node]][:3, :3]
        turn = _rotation(above)
        linear = solved(above, np.array(plan.linear_velocity))
        spin = turn.T @ np.array(plan.angular_velocity) * _DEGREES
        if linear.any():
            body.CreateVelocityAttr(_vec3f(linear))
        if spin.any():
            body.CreateAngularVelocityAttr(_vec3f(spin))
        if plan.kind is model.MotionKind.KINEMATIC:
            body.CreateKinematicEnabledAttr(True)
            return
        matrix = self._frame(node)
        inertial = plan.world_from_body @ plan.body_from_inertial
        center = solved(matrix, np.array([*inertial.translation, 1.0]))[:3]
        axes = _rotation(matrix[:3, :3]).T @ inertial.matrix()[:3, :3]
        mass = UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(plan.mass)
        mass.CreateCenterOfMassAttr(_vec3f(center))
        mass.CreateDiagonalInertiaAttr(_vec3f(plan.inertia_diagonal))
        mass.CreatePrincipalAxesAttr(_quatf(quats_from_matrices(axes)))
        stated = motion.inertia_diagonal or ()
        if motion.mass == math.inf or math.inf in stated:
            self._losses.lost(
                "an infinite mass or moment", path, f"it is {plan.mass:.3g} kg and up to "
                f"{max(plan.inertia_diagonal):.3g} kg m2",
            )  # fmt: skip
        if plan.gravity_factor == 0.0:
            prim.AddAppliedSchema("PhysxRigidBodyAPI")
            _attribute(prim, "physxRigidBody:disableGravity", Sdf.ValueTypeNames.Bool, True)
        elif plan.gravity_factor != 1.0:
            value = 1.0 - plan.gravity_factor
            _attribute(prim, "mjc:gravcomp", Sdf.ValueTypeNames.Double, value)
            self._losses.lost(
                f"the gravity factor {plan.gravity_factor:.3g}", path,
                "MuJoCo's attribute mjc:gravcomp says it",
            )  # fmt: skip

    # --- colliders ------------------------------------------------------------------------------

    def _write_collider(
        self,
        node: int,
        shape: model.Shape,
        filter_: model.CollisionFilter | None,
        material: model.PhysicsMaterial | None,
    ) -> None:
        """Write a collider, or a trigger if there is no material."""
        name = f"{self._paths[node].rsplit('/', 1)[-1]}_{'collider' if material else 'trigger'}"
        path = self._names.child(self._inner[node], name)
        geometry = self._shapes.define(path, node, shape)
        if geometry is None:
            return
        geometry.CreatePurposeAttr(UsdGeom.Tokens.guide)
        prim = geometry.GetPrim()
        UsdPhysics.CollisionAPI.Apply(prim)
        self._collisions[node] = _Collision(path, filter_)
        if material is None:
            prim.AddAppliedSchema("PhysxTriggerAPI")
            self._losses.lost("a trigger", path, "PhysX' schema says it, for others it is solid")
            return
        binding = UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(self._material(material), UsdShade.Tokens.weakerThanDescendants, "physics")

    def _material(self, material: model.PhysicsMaterial) -> Any:
        if material in self._materials:
            return self._materials[material]
        if not self._materials:
            self._scope = self._names.child(_ROOT, "PhysicsMaterials")
            UsdGeom.Scope.Define(self.stage, self._scope)
        found = UsdShade.Material.Define(self.stage, self._names.child(self._scope, "material"))
        prim = found.GetPrim()
        api = UsdPhysics.MaterialAPI.Apply(prim)
        api.CreateStaticFrictionAttr(material.static_friction)
        api.CreateDynamicFrictionAttr(material.dynamic_friction)
        api.CreateRestitutionAttr(material.restitution)
        for word, mode in (
            ("friction", material.friction_combine),
            ("restitution", material.restitution_combine),
        ):
            if mode is not None:
                if "PhysxMaterialAPI" not in prim.GetAppliedSchemas():
                    prim.AddAppliedSchema("PhysxMaterialAPI")
                name = mode.value.replace("imum", "")
                key = f"physxMaterial:{word}CombineMode"
                _attribute(prim, key, Sdf.ValueTypeNames.Token, name)
        self._materials[material] = found
        return found

    # --- filters --------------------------------------------------------------------------------

    def _write_filters(self) -> None:
        """Each filter as a group that names the groups it does not meet."""
        members: dict[model.CollisionFilter, list[str]] = {}
        for collision in self._collisions.values():
            if collision.filter is not None:
                members.setdefault(collision.filter, []).append(collision.path)
        if not members:
            return
        scope = UsdGeom.Scope.Define(self.stage, self._names.child(_ROOT, "CollisionGroups"))
        groups = {}
        for filter_, paths in members.items():
            name = "_".join(sorted(filter_.systems)) or "group"
            path = self._names.child(str(scope.GetPath()), name)
            groups[filter_] = group = UsdPhysics.CollisionGroup.Define(self.stage, path)
            included = group.GetCollidersCollectionAPI().CreateIncludesRel()
            for member in paths:
                included.AddTarget(member)
        for k, (one, group) in enumerate(groups.items()):
            for other, partner in list(groups.items())[k:]:
                if not model.may_collide(one, other):
                    group.CreateFilteredGroupsRel().AddTarget(partner.GetPath())

    # --- joints ---------------------------------------------------------------------------------

    def _ends(self, node: int | None) -> JointEnd:
        """The prim that an attachment node belongs to: a body, or a static collider around it."""
        if node is None:
            return JointEnd("", np.eye(4), -1)
        body = int(self._body_of[node])
        if body >= 0:
            return JointEnd(self._paths[body], self._frame(body), body)
        for k in (node, *self._tree.ancestors(node)):
            if k in self._collisions and k in self._physics.colliders:
                path = self._collisions[k].path
                prim = UsdGeom.Xformable(self.stage.GetPrimAtPath(path))
                local = np.array(prim.GetLocalTransformation()).T
                return JointEnd(path, self._world[k] @ local, -1)
        return JointEnd("", np.eye(4), -1)

    # --- movement -------------------------------------------------------------------------------

    def _write_movement(self) -> None:
        """Animations as time samples, all of them from 0 s on."""
        tracks = [t for a in self._source.animations for t in a.tracks if t.node is not None]
        tracks = [t for t in tracks if t.target_path != "weights"]
        if not tracks:
            return
        times = np.unique(np.concatenate([t.times for t in tracks]))
        if any(t.interpolation is Interpolation.CUBICSPLINE for t in tracks):
            times = np.union1d(times, np.arange(times[0], times[-1], 1.0 / _FRAMES))
        marked = np.zeros(len(self._tree), dtype=bool)
        marked[[t.node for t in tracks if t.node is not None]] = True
        below = self._tree.nearest_at_or_above(marked) >= 0
        sampler = AnimationSampler(tracks)
        tree = self._tree
        parts = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
        moved = [n for n in self._ops if below[n] and (marked[n] or len(self._ops[n]) == 1)]
        for time in times.tolist():
            sampler.sample_into(time, *parts)
            code, world = time * _FRAMES, _composed(tree, parts)
            for node in moved:
                ops = self._ops[node]
                if len(ops) == 1:
                    ops[0].Set(_matrix4d(self._local(node, world)), code)
                    continue
                x, y, z, w = parts[1][node].tolist()
                ops[0].Set(Gf.Vec3d(*parts[0][node].tolist()), code)
                ops[1].Set(Gf.Quatd(w, x, y, z), code)
                ops[2].Set(Gf.Vec3d(*parts[2][node].tolist()), code)
        self.stage.SetStartTimeCode(times[0] * _FRAMES)
        self.stage.SetEndTimeCode(times[-1] * _FRAMES)

    def _report_rest(self) -> None:
        for node in self._physics.gravity_volumes:
            self._losses.lost("a gravity volume", self._paths.get(node, _ROOT))
        if self._source.has_graph:
            self._losses.lost("the behavior graph", _ROOT)
        for animation in self._source.animations:
            if any(t.pointer is not None or t.target_path == "weights" for t in animation.tracks):
                self._losses.lost("an animation of other than nodes", animation.name or _ROOT)
        for key in ("cameras", "skins"):
            if self._source.document.count(key):
                self._losses.lost(f"the {key}", _ROOT)


def _composed(tree: NodeTree, parts: tuple[FloatArray, FloatArray, FloatArray]) -> FloatArray:
    return tree.compose(matrices_from_trs(*parts), np.eye(4))


def _rotation(linear: FloatArray) -> FloatArray:
    """The rotation of a matrix with scale, shape [3, 3]."""
    return matrices_from_quats(split_linear(linear)[0])


def _matrix4d(matrix: FloatArray) -> Any:
    """OpenUSD's matrices map rows."""
    return Gf.Matrix4d(*matrix.T.ravel().tolist())


def _vec3f(values: Any) -> Any:
    return Gf.Vec3f(*(float(v) for v in values))


def _quatf(xyzw: FloatArray) -> Any:
    x, y, z, w = (float(v) for v in xyzw)
    return Gf.Quatf(w, x, y, z)


def _attribute(prim: Any, name: str, kind: Any, value: Any) -> None:
    prim.CreateAttribute(name, kind).Set(value)
