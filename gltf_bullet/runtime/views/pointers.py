"""``scene.get`` and ``scene.set``: the specs' object-model pointers on a running scene.

Velocities, masses, materials, drives, limits and poses are changed in place if the engine can;
anything else rebuilds the scene's bodies with their present poses and velocities.
"""

from __future__ import annotations

import re
import reprlib
from numbers import Real
from typing import Any

import numpy as np

from gltf_bullet import model
from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.gltf.meshes import read_mesh
from gltf_bullet.model.pointers import PointerTarget, edited, find_target, pointers_of
from gltf_bullet.number_ranges import range_of
from gltf_bullet.planning.gravity import changed_gravity
from gltf_bullet.records import replace
from gltf_bullet.runtime.followers import Jump
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.suggestions import did_you_mean
from gltf_bullet.transforms import FloatArray, matrices_from_trs

_NODE_FIELDS = {"translation": 3, "rotation": 4, "scale": 3}
_INDEX = re.compile("0|[1-9][0-9]{0,8}")
"""Index token of RFC 6901: ASCII digits, without leading zeros."""
_LENGTH = ".length"
_LISTS_OF_ROOT = re.compile(
    "/(accessors|animations|buffers|bufferViews|cameras|images|materials|meshes|nodes|samplers"
    "|scenes|skins|textures)"
    "|/extensions/KHR_physics_rigid_bodies/(physicsMaterials|physicsJoints|collisionFilters)"
    "|/extensions/KHR_implicit_shapes/shapes|/extensions/OMI_physics_joint/physicsJoints"
    "|/extensions/OMI_physics_shape/shapes"
)
"""Lists whose ``.length`` is 0 where the file has none (glTF object model)."""
_LISTS_OF_ITEMS = re.compile(
    "/nodes/[0-9]+/(children|weights)|/scenes/[0-9]+/nodes|/meshes/[0-9]+/(primitives|weights)"
    "|/skins/[0-9]+/joints|/animations/[0-9]+/(channels|samplers)"
    "|/extensions/[A-Z]+_physics_(rigid_bodies|joint)/physicsJoints/[0-9]+/(limits|drives)"
)
"""Lists whose ``.length`` is 0 if the object that would have them has none."""
_UNIT = 1e-6
"""By which the length of a rotation that is set may differ from 1."""
_MOST_NEAR = 2000
"""Largest number of pointers that are compared for a message; each takes some microseconds."""
_GRAVITY = (model.WorldGravity, model.GravityVolume)
_IN_PLACE = (model.PhysicsMaterial, model.JointLimit, *_GRAVITY)
_VELOCITIES = ("linear_velocity", "angular_velocity")
_LIMIT_FIELDS = ("minimum", "maximum", "stiffness", "damping")
"""Fields of a limit that are changed in place."""


def get_value(core: SceneCore, pointer: str) -> Any:
    """Return the present value of a pointer; vectors as arrays.

    Raises:
        KeyError: Nothing of the asset model is there.
    """
    _require_text(pointer)
    if pointer.endswith(_LENGTH):
        return _length(core, pointer)
    node = _node_field(core, pointer)
    if node is not None:
        return _get_node(core, *node)
    target = find_target(core.model_now(), pointer)
    if target is None:
        # Nodes in no scene, or in another one than the loaded one, have the file's values.
        elsewhere = find_target(core.asset.physics, pointer)
        if elsewhere is None or (value := elsewhere.value) is None:
            return _from_document(core, pointer)
        return np.array(value) if isinstance(value, tuple) else value
    if isinstance(target.item, model.Motion):
        return _get_motion(core, target)
    value = target.value
    if isinstance(target.item, model.MeshShape):
        value = _mesh_weights(core, target.item)
    return np.array(value) if isinstance(value, tuple) else value


def _mesh_weights(core: SceneCore, shape: model.MeshShape) -> tuple[float, ...]:
    """Return the weights of a mesh shape: its own, the mesh's, or 0 for each morph target."""
    (part,) = shape.parts
    mesh = read_mesh(core.asset.document, part.mesh, Diagnostics())
    if mesh is None:
        return ()
    targets = [p.morph_positions for p in mesh.primitives if p.morph_positions is not None]
    count = max(map(len, targets), default=0)
    stated = part.weights if part.weights is not None else mesh.weights
    return (*stated, *(0.0,) * (count - len(stated)))[:count]


def set_value(core: SceneCore, pointer: str, value: Any) -> None:
    """Change a mutable pointer; it acts in the engine at once.

    Raises:
        KeyError: Nothing of the asset model is there, or it is read-only.
        TypeError: The value is of another type.
        ValueError: The value is out of range.
    """
    _require_text(pointer)
    if pointer.endswith(_LENGTH):
        raise UnknownNameError(f"{pointer} is read-only")
    core.model.acted.discard(pointer)
    node = _node_field(core, pointer)
    if node is not None:
        _set_node(core, *node, value)
        return
    target = find_target(core.model_now(), pointer)
    if target is None:
        if find_target(core.asset.physics, pointer) is not None:
            raise UnknownNameError(
                f"{pointer} is of a node that is not in the scene that is loaded"
            )
        _from_document(core, pointer)  # raises where the pointer leads nowhere
        raise UnknownNameError(f"{pointer} cannot be changed")
    if isinstance(target.item, model.JointDrive) and target.is_used:
        _set_drive(core, target, pointer, value)
        return
    physics = edited_at(core.model.now, target, pointer, value)
    if isinstance(target.item, model.MeshShape):
        count = len(_mesh_weights(core, target.item))
        if len(value) != count:
            raise ValueError(f"{pointer}: {reprlib.repr(value)} must have {count} numbers")
    if not target.is_used:  # stored only: no body depends on it
        core.model.edit(physics)
        return
    if physics == core.model.now and not isinstance(target.item, model.Motion):
        return
    changed = find_target(physics, pointer)
    try:
        is_done = changed is not None and _changed_in_place(core, changed, physics)
    except ValueError as error:
        raise ValueError(f"{pointer}: {error}") from error
    if is_done:
        core.model.edit(physics)
        return
    core.rebuild(physics)


def set_materials(core: SceneCore, physics: model.PhysicsScene) -> None:
    """Use a model that differs at most in materials from the present one."""
    if core.world.change_materials(physics):
        core.model.edit(physics)
    else:
        core.rebuild(physics)


def _set_drive(core: SceneCore, target: PointerTarget, pointer: str, value: Any) -> None:
    """Change a drive of every joint that shares it; the running joints own their targets."""
    physics = edited_at(core.model_now(), target, pointer, value)
    acts = False
    for node, joint in physics.joints.items():
        for index, drive in enumerate(joint.description.drives):
            if drive.pointer == target.item.pointer and node in core.joint_controls:
                acts |= core.joint_controls.set_drive(node, index, drive)
    if not acts:  # on a locked axis: stored, in case that a limit opens
        core.model.edit(edited_at(core.model.now, target, pointer, value))


def _require_text(pointer: object) -> None:
    if not isinstance(pointer, str):
        raise TypeError(f"{reprlib.repr(pointer)} is no JSON pointer; must be a string")


# --- nodes ------------------------------------------------------------------------------------


def _node_field(core: SceneCore, pointer: str) -> tuple[int, str] | None:
    tokens = pointer.split("/")
    if len(tokens) != 4 or tokens[:2] != ["", "nodes"] or not _INDEX.fullmatch(tokens[2]):
        return None
    index, field = int(tokens[2]), tokens[3]
    if index >= len(core.asset.tree):
        raise UnknownNameError(f"{pointer}: the file has {len(core.asset.tree)} nodes")
    if field not in _NODE_FIELDS and field != "weights":
        near = _near(core, pointer)
        raise UnknownNameError(
            f"{pointer}: must end in translation, rotation, scale or weights{near}"
        )
    return index, field


def _weights_of(core: SceneCore, node: int) -> FloatArray:
    """Return the present morph weights of a node, shape [target_count]."""
    animated = core.followers.animator.weights.get(node)
    authored = core.asset.tree.weights_of[node]
    if animated is not None:
        return animated.copy()
    return np.array(authored if authored is not None else (), dtype=np.float64)


def _get_node(core: SceneCore, node: int, field: str) -> FloatArray:
    """Return the present translation, rotation, scale or weights of a node."""
    if field == "weights":
        return _weights_of(core, node)
    place = list(_NODE_FIELDS).index(field)
    return core.followers.local_parts(node)[place]


def _set_node(core: SceneCore, node: int, field: str, value: Any) -> None:
    numbers = _node_numbers(value, field, f"/nodes/{node}/{field}")
    if field == "weights":
        core.set_weights(node, numbers)
        core.model.placed[node, field] = tuple(numbers.tolist())
        return
    if numbers.shape != (_NODE_FIELDS[field],):
        raise ValueError(f"/nodes/{node}/{field}: must have {_NODE_FIELDS[field]} numbers")
    translation, rotation, scale = core.followers.local_parts(node)
    if field == "translation":
        translation = numbers
    elif field == "rotation":
        length = float(np.linalg.norm(numbers))
        if length < 1e-6:
            raise ValueError(f"/nodes/{node}/rotation: {reprlib.repr(value)} is no rotation")
        # What was set is read back as it is, if it is of length 1 but for rounding.
        rotation = numbers if abs(length - 1.0) < _UNIT else numbers / length
    else:
        scale = numbers
    core.followers.notify(Jump.BEGINS)
    parts = translation, rotation, scale
    turn = rotation / np.linalg.norm(rotation)
    core.place_node(node, matrices_from_trs(translation, turn, scale), parts)
    core.model.placed[node, field] = tuple(
        {"translation": translation, "rotation": rotation, "scale": scale}[field].tolist()
    )
    core.followers.notify(Jump.ENDS)


def _node_numbers(value: Any, field: str, pointer: str) -> FloatArray:
    """Return a list of numbers for a node.

    Raises:
        TypeError: No list of numbers.
        ValueError: One of them is not finite, or beyond the limit.
    """
    items = np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(items, (list, tuple)) or not all(
        isinstance(item, Real) and not isinstance(item, bool) for item in items
    ):
        raise TypeError(f"{pointer}: {reprlib.repr(value)} is no list of numbers")
    largest = range_of(field).largest
    if not all(abs(item) <= largest for item in items):  # of integers too large for floats, too
        raise ValueError(f"{pointer}: {reprlib.repr(value)} must be at most {largest:g}")
    return np.array(items, dtype=np.float64)


# --- physics ----------------------------------------------------------------------------------


def _get_motion(core: SceneCore, target: PointerTarget) -> Any:
    motion: model.Motion = target.item
    node = next(n for n, m in core.model.now.motions.items() if m is motion)
    plan = core.world.plan.bodies.bodies[node]
    if target.field in _VELOCITIES:
        linear, angular = core.world.motion.velocities_in_node(node)
        return np.array(linear if target.field == "linear_velocity" else angular)
    value = target.value
    if motion.inertia_diagonal is None and value == (0.0, 0.0, 0.0, 1.0):
        # The principal axes of the derived inertia; identity if the file states none.
        value = plan.body_from_inertial.rotation_xyzw
    if value is None:
        # Left to the engine: values derived from the shapes.
        if target.field == "center_of_mass":
            return _center_in_node(core, node)
        value = {"mass": plan.mass, "inertia_diagonal": plan.inertia_diagonal}[target.field]
    return np.array(value) if isinstance(value, tuple) else value


def _center_in_node(core: SceneCore, node: int) -> FloatArray:
    """Return a body's centre of mass in its node's space [m], as in files, shape [3]."""
    plan = core.world.plan.bodies.bodies[node]
    node_from_world = core.world.motion.rotation_of(node).T
    if not np.isfinite(node_from_world).all():  # the body's pose is not finite
        return np.full(3, np.nan)
    linear_map = node_from_world @ core.followers.matrix_of(node)[:3, :3]
    # Least squares: 0 along an axis along which the node is scaled to zero.
    center = np.linalg.lstsq(linear_map, np.array(plan.body_from_inertial.translation), None)[0]
    found: FloatArray = center
    return found


def edited_at(
    physics: model.PhysicsScene, target: PointerTarget, pointer: str, value: Any
) -> model.PhysicsScene:
    """Return the model with another value at a pointer.

    Raises:
        TypeError: The value is of another type.
        ValueError: The value is out of range.
    """
    try:
        return edited(physics, target, value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{pointer}: {error}") from error


def is_set_in_place(target: PointerTarget) -> bool:
    """Return True if a change mostly needs no new bodies."""
    item = target.item
    if isinstance(item, model.Motion):
        return item.kind is model.MotionKind.DYNAMIC and target.field in _VELOCITIES
    return not target.is_used or isinstance(item, (*_IN_PLACE, model.JointDrive))


def _changed_in_place(core: SceneCore, new: PointerTarget, physics: model.PhysicsScene) -> bool:
    """Change the engine without a rebuild if possible; return True if it was."""
    item = new.item
    if isinstance(item, model.Motion):
        return _changed_motion(core, item, new.field, physics)
    if isinstance(item, model.PhysicsMaterial):
        return core.world.change_materials(physics)
    if isinstance(item, model.JointLimit):
        return all(
            _changed_limit(core.joint_controls, node, index, limit)
            for node, joint in physics.joints.items()
            for index, limit in enumerate(joint.description.limits)
            if limit.pointer == item.pointer and node in core.joint_controls
        )
    if isinstance(item, _GRAVITY) and core.world.gravity is not None:
        plan = core.world.plan
        gravity = changed_gravity(plan.gravity, physics, plan.frames.linear_maps(), core.options)
        core.world.plan = replace(plan, gravity=gravity)
        core.world.gravity.change(core.world.plan)
        return True
    # Joints, even without effect, decide which bodies collide, which is planned.
    return False


def _changed_limit(controls: JointControls, node: int, index: int, limit: model.JointLimit) -> bool:
    fields = {name: getattr(limit, name) for name in _LIMIT_FIELDS}
    # What the controls do not write takes new joints.
    is_rest_equal = replace(controls.limits(node)[index], **fields) == limit
    return is_rest_equal and controls.set_limit(node, index, **fields)


def _changed_motion(
    core: SceneCore, motion: model.Motion, field: str, physics: model.PhysicsScene
) -> bool:
    node = next(n for n, m in core.model.now.motions.items() if m.pointer == motion.pointer)
    if field in _VELOCITIES and motion.kind is model.MotionKind.DYNAMIC:
        linear, angular = core.world.motion.velocities_in_node(node)
        if field == "linear_velocity":
            linear = motion.linear_velocity
        else:
            angular = motion.angular_velocity
        return core.world.motion.set_velocity(node, linear, angular)
    return core.change_masses(physics)


# --- the document -----------------------------------------------------------------------------


def _from_document(core: SceneCore, pointer: str) -> Any:
    """Return a value of the file that physics does not use."""
    owner: Any = core.asset.document.json
    if not pointer.startswith("/"):
        raise UnknownNameError(f"{pointer!r} is no JSON pointer; must start with /")
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(owner, list) and _INDEX.fullmatch(key) and int(key) < len(owner):
            owner = owner[int(key)]
        elif isinstance(owner, dict) and key in owner:
            owner = owner[key]
        else:
            raise UnknownNameError(
                f"{pointer}: the asset has nothing at {key!r}{_near(core, pointer)}"
            )
    return owner


def _near(core: SceneCore, pointer: str) -> str:
    """Return the end of a message with pointers that the user may have meant.

    Pointers of the same object with the same last token come first, then those of other objects,
    then similar ones: ``/nodes/1/mass``.
    """
    known = pointers_of(core.model_now())
    tokens = pointer.split("/")
    places = [f"/nodes/{k}/{key}" for k in range(len(core.asset.tree)) for key in _NODE_FIELDS]
    alike = [other for other in known if other.split("/")[-1] == tokens[-1]]
    within = [other for other in alike if other.split("/")[1:3] == tokens[1:3]] or alike
    if within:
        return f"; did you mean {' or '.join(map(repr, within[:3]))}?"
    return did_you_mean(pointer, (*known, *places)[:_MOST_NEAR], similar=0.75)


def _length(core: SceneCore, pointer: str) -> int:
    """Return the size of a list; 0 for one that the object model has and the file lacks."""
    listed = pointer.removesuffix(_LENGTH)
    if _LISTS_OF_ROOT.fullmatch(listed):
        owner: Any = core.asset.document.json
        for key in listed.split("/")[1:]:
            owner = owner.get(key, {}) if isinstance(owner, dict) else {}
        return len(owner)
    owner_at, _, key = listed.rpartition("/")
    if _LISTS_OF_ITEMS.fullmatch(listed) and key not in _from_document(core, owner_at):
        return 0
    found = _from_document(core, listed)
    if not isinstance(found, list):
        raise UnknownNameError(f"{pointer}: there is no list")
    return len(found)
