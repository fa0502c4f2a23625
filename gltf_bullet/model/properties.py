"""The tables of properties: every one of the physics that is a single value, declared once.

An entry says what a property is called in each dialect, which field of the model holds it, its type
and range, its unit, its default where a dialect has another than the field, and how it is written
and shown. The readers of all dialects, the writer of KHR, the object model
(:mod:`.pointers`), the check for unknown keys, ``inspect`` and the page of coverage are loops over
these tables: a new property is a field of its dataclass, which states the default, and an entry
here. Members that are more than a value (references, axes of joints, meshes) are read by hand.

The file is long because it is one list; an entry takes five to fifteen lines of it.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, replace
from numbers import Real
from typing import Any, Final

from gltf_bullet import number_ranges as carries
from gltf_bullet.model.colliders import CollisionFilter, CombineMode, PhysicsMaterial
from gltf_bullet.model.gravity import GravityField, GravityFieldKind, GravityVolume, WorldGravity
from gltf_bullet.model.joints import Joint, JointDrive, JointLimit
from gltf_bullet.model.motion import Motion, MotionKind
from gltf_bullet.model.shapes import Box, Capsule, Cylinder, MeshShape, Plane, Sphere
from gltf_bullet.number_ranges import GENERAL, NumberRange


class Dialect(enum.Enum):
    """The ways to write physics, newest first; the value is the name of each on pages."""

    KHR = "KHR_physics_rigid_bodies"
    CORE = "glTF 2.1"
    """The shapes of the draft of glTF 2.1, which stand in no extension."""
    OMI = "OMI_physics_body"
    OMI_COLLIDER = "OMI_collider"
    MSFT_LATER = "MSFT_rigid_bodies"
    MSFT_CAMEL = "MSFT_RigidBodies"


# --- ranges and types of values ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers that a property may have by its schema; every number must be finite."""

    at_least: float | None = None
    above: float | None = None

    def checked(self, value: object) -> float:
        """A number of the range.

        Raises:
            TypeError: The value is no number.
            ValueError: The number is out of range.
        """
        number = _number(value)
        if self.at_least is not None and number < self.at_least:
            raise ValueError(f"{_shown(value)} must be >= {self.at_least:g}")
        if self.above is not None and number <= self.above:
            raise ValueError(f"{_shown(value)} must be > {self.above:g}")
        return number


ANY: Final = Range()
AT_LEAST_ZERO: Final = Range(at_least=0.0)
ABOVE_ZERO: Final = Range(above=0.0)


def _shown(value: object) -> str:
    return reprlib.repr(value)


def _number(value: object) -> float:
    # numpy's scalars are Real as well; its booleans are not.
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{_shown(value)} is no number")
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{_shown(value)} is not finite")
    return number


def _whole(value: object, allowed: Range) -> int:
    number = allowed.checked(value)
    if number != round(number):
        raise ValueError(f"{_shown(value)} is no whole number")
    return round(number)


def _boolean(value: object, _: Range) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{_shown(value)} is not true or false")
    return value


def _vector(value: Any, allowed: Range, count: int = 3) -> tuple[float, ...]:
    # Lists, tuples and arrays: a string, a dictionary or a number is no vector.
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)):
        raise TypeError(f"{_shown(value)} is no list of {count} numbers")
    items = tuple(plain)
    if len(items) != count:
        raise ValueError(f"{_shown(value)} must have {count} numbers")
    return tuple(map(allowed.checked, items))


def _quaternion(value: Any, allowed: Range) -> tuple[float, ...]:
    x, y, z, w = _vector(value, allowed, 4)
    length = math.hypot(x, y, z, w)
    if not 1e-6 < length < math.inf:
        raise ValueError(f"{_shown(value)} is no rotation")
    return (x / length, y / length, z / length, w / length)


def _direction(value: Any, allowed: Range) -> tuple[float, ...]:
    x, y, z = _vector(value, allowed)
    length = math.hypot(x, y, z)
    if not 1e-6 < length < math.inf:
        raise ValueError(f"{_shown(value)} is no direction")
    return (x / length, y / length, z / length)


def _numbers(value: Any, allowed: Range) -> tuple[float, ...]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)):
        raise TypeError(f"{_shown(value)} is no list of numbers")
    return tuple(map(allowed.checked, plain))


def _points(value: Any, allowed: Range) -> tuple[tuple[float, ...], ...]:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)) or len(plain) < 6 or len(plain) % 3:
        raise ValueError(f"{_shown(value)} must have at least 6 numbers, three a point")
    numbers = tuple(map(allowed.checked, plain))
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def _zero_from_infinite(value: float | None) -> float | None:
    return 0.0 if value == math.inf else value


def _same(value: Any) -> Any:
    return value


def _read_only(value: Any, _: Range) -> Any:
    raise TypeError(f"{_shown(value)}: the property is read-only")


@dataclass(frozen=True, slots=True, eq=False)
class ValueType:
    """A type of JSON value, and how the model holds it."""

    from_json: Callable[[Any, Range], Any] = _read_only
    """The model's value; raises ``TypeError`` or ``ValueError`` where the JSON cannot mean one."""
    to_json: Callable[[Any], Any] = _same
    """The JSON value, lists as tuples."""


NUMBER: Final = ValueType(lambda value, allowed: allowed.checked(value))
STRENGTH: Final = ValueType(lambda value, allowed: allowed.checked(value))
"""A number that is infinite where it is absent, in OMI also where it is negative."""
MASS: Final = ValueType(
    lambda value, allowed: allowed.checked(value) or math.inf, _zero_from_infinite
)
"""A number whose 0 in the file means infinite."""
MOMENTS: Final = ValueType(
    lambda value, allowed: tuple(moment or math.inf for moment in _vector(value, allowed)),
    lambda value: None if value is None else tuple(map(_zero_from_infinite, value)),
)
"""Three numbers, each infinite for 0 in the file."""
WHOLE: Final = ValueType(_whole)
BOOLEAN: Final = ValueType(_boolean)
KINEMATIC: Final = ValueType(
    lambda value, _: MotionKind.KINEMATIC if _boolean(value, ANY) else MotionKind.DYNAMIC,
    lambda kind: kind is MotionKind.KINEMATIC,
)
"""A boolean that the model holds as a :class:`~gltf_bullet.model.motion.MotionKind`."""
VECTOR: Final = ValueType(_vector)
DIRECTION: Final = ValueType(_direction)
QUATERNION: Final = ValueType(_quaternion)
NUMBERS: Final = ValueType(_numbers)
POINTS: Final = ValueType(_points, lambda points: tuple(x for point in points for x in point))
"""The points of a polyline; the file has a flat list of their coordinates."""
WORD: Final = ValueType(to_json=lambda value: None if value is None else value.value)
"""A string of a fixed set, an ``enum.Enum`` in the model."""
NAMES: Final = ValueType(to_json=lambda names: None if names is None else tuple(sorted(names)))
"""A set of strings, written in alphabetical order."""


# --- entries and tables --------------------------------------------------------------------------


_OF_FIELD: Final = object()
"""Stands for the default of the model's field."""


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """One JSON member of an object."""

    key: str
    """Its name in KHR, or in OMI where KHR has no such property."""
    field: str
    """The model's field, in dots that of a value within it."""
    type: ValueType
    _: KW_ONLY
    range: Range = ANY
    """Numbers that the schema allows."""
    carried: NumberRange = GENERAL
    """Magnitudes that the engine can carry."""
    unit: str = "1"
    """SI unit; those of translation and rotation, where both occur."""
    default: Any = _OF_FIELD
    """The model's value of an absent member: that of the field, unless the entry has another.
    ``dataclasses.MISSING``: the member is required."""
    dialects: tuple[Dialect, ...] = ()
    """Dialects that have the property; by default those of its table."""
    keys: Mapping[Dialect, str] = dataclasses.field(default_factory=dict)
    """Names in dialects that call it otherwise."""
    defaults: Mapping[Dialect, Any] = dataclasses.field(default_factory=dict)
    """Defaults of dialects that have another one."""
    has_pointer: bool = True
    """True if the object model has it."""
    always_written: bool = False
    """True if its default is written, too."""
    title: str = ""
    """Heading of its column in ``inspect``."""

    @property
    def is_boolean(self) -> bool:
        """True if the JSON value is true or false."""
        return self.type in (BOOLEAN, KINEMATIC)

    def key_in(self, dialect: Dialect) -> str:
        """Its name in a dialect."""
        return self.keys.get(dialect, self.key) if self.keys else self.key

    def default_in(self, dialect: Dialect) -> Any:
        """The model's value of an absent member in a dialect."""
        return self.defaults.get(dialect, self.default) if self.defaults else self.default

    def value_of(self, item: Any) -> Any:
        """The model's value of an item."""
        for name in self.field.split("."):
            # Parts of a mesh share its weights.
            item = getattr(item[0] if isinstance(item, tuple) else item, name)
        return item

    def json_of(self, item: Any) -> Any:
        """The value of an item as the file would have it, lists as tuples."""
        return self.type.to_json(self.value_of(item))


class Properties:
    """The table of one kind of object, in the order in which its members are written."""

    def __init__(
        self,
        owner: type,
        what: str,
        dialects: tuple[Dialect, ...],
        *entries: Property,
        inner: type | None = None,
    ) -> None:
        """Complete the entries by the defaults of ``owner`` and of ``inner``, a value within it."""
        self.owner, self.what = owner, what
        self._entries = {
            entry.key: replace(
                entry,
                default=_default(entry, owner, inner),
                dialects=entry.dialects or dialects,
            )
            for entry in entries
        }
        self._of: dict[Dialect, tuple[tuple[Property, str, Any], ...]] = {}

    def __iter__(self) -> Iterator[Property]:
        return iter(self._entries.values())

    def __getitem__(self, key: str) -> Property:
        return self._entries[key]

    def entries(self, dialect: Dialect) -> tuple[tuple[Property, str, Any], ...]:
        """The properties that a dialect has, each with its name and default there."""
        found = self._of.get(dialect)
        if found is None:
            found = self._of[dialect] = tuple(
                (e, e.key_in(dialect), e.default_in(dialect)) for e in self if dialect in e.dialects
            )
        return found

    def names(self, dialect: Dialect) -> tuple[str, ...]:
        """The keys that an object may have in a dialect."""
        return tuple(key for _, key, _ in self.entries(dialect))

    def defaults(self, dialect: Dialect) -> dict[str, Any]:
        """The values of an object of which a dialect's file states nothing, by their fields."""
        return {entry.field: default for entry, _, default in self.entries(dialect)}

    def pointers(self) -> dict[str, Property]:
        """The properties of the object model by all their names, those of KHR first."""
        settable = [entry for entry in self if entry.has_pointer]
        found = {entry.key: entry for entry in settable}
        return found | {name: entry for entry in settable for name in entry.keys.values()}


def _default(entry: Property, owner: type, inner: type | None) -> Any:
    if entry.default is not _OF_FIELD:
        return entry.default
    name, _, within = entry.field.partition(".")
    fields = getattr(inner if within else owner, "__dataclass_fields__", {})
    return fields[within or name].default


_KHR: Final = (Dialect.KHR,)
_OMI: Final = (Dialect.OMI,)
_MSFT: Final = (Dialect.MSFT_LATER, Dialect.MSFT_CAMEL)
_WITH_BODIES: Final = (*_KHR, *_OMI, *_MSFT)
_TYPED_SHAPES: Final = (Dialect.KHR, Dialect.CORE, Dialect.OMI, Dialect.MSFT_LATER)
"""Dialects with shapes like ``{"type": "capsule", "capsule": {"radiusTop": 0.25}}``."""
_ONE_RADIUS: Final = (Dialect.OMI_COLLIDER, Dialect.MSFT_CAMEL)
"""Dialects whose capsules and cylinders have one radius."""

MATERIAL: Final = Properties(
    PhysicsMaterial, "a physics material", _WITH_BODIES,
    Property(
        "staticFriction", "static_friction", NUMBER,
        range=AT_LEAST_ZERO, carried=carries.FRICTION, always_written=True, title="Static",
    ),
    Property(
        "dynamicFriction", "dynamic_friction", NUMBER,
        range=AT_LEAST_ZERO, carried=carries.FRICTION, always_written=True, title="Dynamic",
    ),
    Property(
        "restitution", "restitution", NUMBER,
        range=AT_LEAST_ZERO, carried=carries.RESTITUTION, always_written=True, title="Restitution",
    ),
    # An unstated mode has no opinion in KHR and MSFT: RigidBodies_Materials_01 pairs a bare
    # material with "minimum" and with "maximum" and expects a difference. OMI states "average" as
    # the default, so that there it is stated and outranks other modes.
    Property(
        "frictionCombine", "friction_combine", WORD,
        defaults={Dialect.OMI: CombineMode.AVERAGE}, has_pointer=False,
    ),
    Property(
        "restitutionCombine", "restitution_combine", WORD,
        defaults={Dialect.OMI: CombineMode.AVERAGE}, has_pointer=False,
    ),
)  # fmt: skip

FILTER: Final = Properties(
    CollisionFilter, "a collision filter", _WITH_BODIES,
    Property(
        "collisionSystems", "systems", NAMES,
        has_pointer=False, title="Systems",
    ),
    Property(
        "collideWithSystems", "collide_with", NAMES,
        has_pointer=False, title="Meets",
    ),
    Property(
        "notCollideWithSystems", "not_collide_with", NAMES,
        has_pointer=False, title="Does not meet",
    ),
)  # fmt: skip

MOTION: Final = Properties(
    Motion, "a motion", _WITH_BODIES,
    Property(
        "isKinematic", "kind", KINEMATIC,
        dialects=(*_KHR, *_MSFT),
    ),
    # MSFT_rigid_bodies has 1 kg in its schema; mass and inertia that are not given come from the
    # geometry there, as the successor's text says.
    Property(
        "mass", "mass", MASS,
        range=AT_LEAST_ZERO, carried=carries.MASS, unit="kg",
        defaults={Dialect.OMI: 1.0, Dialect.MSFT_CAMEL: 1.0},
    ),
    Property(
        "centerOfMass", "center_of_mass", VECTOR,
        carried=carries.EXTENT, unit="m",
        defaults=dict.fromkeys((*_OMI, *_MSFT), (0.0, 0.0, 0.0)),
    ),
    Property(
        "inertiaDiagonal", "inertia_diagonal", MOMENTS,
        range=AT_LEAST_ZERO, carried=carries.MOMENT, unit="kg m^2",
        dialects=(*_KHR, *_OMI, Dialect.MSFT_LATER),
    ),
    Property(
        "inertiaOrientation", "inertia_orientation_xyzw", QUATERNION,
        dialects=(*_KHR, *_OMI, Dialect.MSFT_LATER),
    ),
    Property(
        "linearVelocity", "linear_velocity", VECTOR,
        unit="m/s",
    ),
    Property(
        "angularVelocity", "angular_velocity", VECTOR,
        unit="rad/s",
    ),
    Property(
        "gravityFactor", "gravity_factor", NUMBER,
        carried=carries.GRAVITY_FACTOR,
    ),
)  # fmt: skip

LIMIT: Final = Properties(
    JointLimit, "a joint limit", _WITH_BODIES,
    Property("min", "minimum", NUMBER, carried=carries.JOINT_BOUND, unit="m, rad"),
    Property("max", "maximum", NUMBER, carried=carries.JOINT_BOUND, unit="m, rad"),
    Property(
        "stiffness", "stiffness", STRENGTH,
        range=AT_LEAST_ZERO, carried=carries.STIFFNESS, unit="N/m, N m/rad",
        keys=dict.fromkeys(_MSFT, "springConstant"),
    ),
    Property(
        "damping", "damping", NUMBER,
        range=AT_LEAST_ZERO, carried=carries.STIFFNESS, unit="N s/m, N m s/rad",
        keys=dict.fromkeys(_MSFT, "springDamping"),
    ),
)  # fmt: skip

DRIVE: Final = Properties(
    JointDrive, "a joint drive", (*_KHR, *_OMI),
    Property(
        "maxForce", "max_force", STRENGTH,
        range=AT_LEAST_ZERO, carried=carries.DRIVE_FORCE, unit="N, N m",
    ),
    Property(
        "positionTarget", "position_target", NUMBER,
        carried=carries.DRIVE_POSITION, unit="m, rad",
    ),
    Property(
        "velocityTarget", "velocity_target", NUMBER,
        carried=carries.DRIVE_VELOCITY, unit="m/s, rad/s",
    ),
    Property(
        "stiffness", "stiffness", NUMBER,
        range=AT_LEAST_ZERO, carried=carries.STIFFNESS, unit="N/m, N m/rad; per kg, kg m^2",
    ),
    Property(
        "damping", "damping", NUMBER,
        range=AT_LEAST_ZERO, carried=carries.STIFFNESS, unit="N s/m, N m s/rad; per kg, kg m^2",
    ),
)  # fmt: skip

JOINT: Final = Properties(
    Joint, "a joint", _WITH_BODIES,
    Property(
        "enableCollision", "enable_collision", BOOLEAN,
    ),
)  # fmt: skip

JOINT_EXTRAS: Final = Properties(
    Joint, "extras of a joint", _KHR,
    Property("maxVelocity", "max_velocity", NUMBER, unit="m/s, rad/s", has_pointer=False),
    Property("maxForce", "max_force", NUMBER, unit="N, N m", has_pointer=False),
    Property("friction", "friction", NUMBER, unit="N, N m", has_pointer=False),
    Property("fixedBase", "on_fixed_base", BOOLEAN, has_pointer=False),
)  # fmt: skip
"""Members of ``extras.gltf_bullet`` of a joint's node, which no specification has."""

# Sizes of shapes [m]. A size of 0 is read in every dialect, if only as a thin shape; the object
# model sets none.
BOX: Final = Properties(
    Box, "a box", tuple(Dialect),
    Property(
        "size", "size", VECTOR,
        range=ABOVE_ZERO, carried=carries.EXTENT, unit="m", default=(1.0, 1.0, 1.0),
        always_written=True,
    ),
)  # fmt: skip
SPHERE: Final = Properties(
    Sphere, "a sphere", tuple(Dialect),
    Property(
        "radius", "radius", NUMBER,
        range=ABOVE_ZERO, carried=carries.EXTENT, unit="m", default=0.5, always_written=True,
    ),
)  # fmt: skip


def _round(owner: type, what: str, height: Property, half: tuple[Dialect, ...]) -> Properties:
    """A capsule or cylinder; dialects of ``half`` have radii of 0.5 m instead of 0.25 m."""
    size = Property(
        "", "", NUMBER, range=AT_LEAST_ZERO, carried=carries.EXTENT, unit="m", default=0.25,
        defaults=dict.fromkeys(half, 0.5), dialects=_TYPED_SHAPES, always_written=True,
    )  # fmt: skip
    return Properties(
        owner, what, tuple(Dialect),
        height,
        replace(size, key="radiusBottom", field="radius_bottom"),
        replace(size, key="radiusTop", field="radius_top"),
        # Both radii at once: no object model has it.
        replace(
            size, key="radius", field="radius_bottom",
            dialects=_ONE_RADIUS, has_pointer=False, always_written=False,
        ),
    )  # fmt: skip


_HALF_METRE: Final = (Dialect.CORE, Dialect.OMI, Dialect.OMI_COLLIDER)
CAPSULE: Final = _round(
    Capsule, "a capsule",
    # In OMI_collider from tip to tip, else between the centres of the caps.
    Property(
        "height", "mid_height", NUMBER,
        range=ABOVE_ZERO, carried=carries.EXTENT, unit="m", default=0.5,
        defaults={Dialect.CORE: 1.0, Dialect.OMI: 1.0, Dialect.OMI_COLLIDER: 2.0},
        always_written=True,
    ),
    _HALF_METRE,
)  # fmt: skip
CYLINDER: Final = _round(
    Cylinder, "a cylinder",
    Property(
        "height", "height", NUMBER,
        range=ABOVE_ZERO, carried=carries.EXTENT, unit="m", default=0.5,
        defaults=dict.fromkeys(_HALF_METRE, 2.0), always_written=True,
    ),
    _HALF_METRE,
)  # fmt: skip
PLANE: Final = Properties(
    Plane, "a plane", (Dialect.KHR, Dialect.CORE),
    Property(
        "sizeX", "size_x", NUMBER,
        range=ABOVE_ZERO, carried=carries.ENDLESS_EXTENT, unit="m", default=math.inf,
    ),
    Property(
        "sizeZ", "size_z", NUMBER,
        range=ABOVE_ZERO, carried=carries.ENDLESS_EXTENT, unit="m", default=math.inf,
    ),
    Property("doubleSided", "double_sided", BOOLEAN, default=False, dialects=_KHR),
)  # fmt: skip
MESH: Final = Properties(
    MeshShape, "a mesh shape", _KHR,
    # Of KHR_collision_shapes; other meshes have no numbers of their own.
    Property("weights", "parts.weights", NUMBERS, carried=carries.MORPH_WEIGHT, default=None),
)  # fmt: skip

WORLD_GRAVITY: Final = Properties(
    WorldGravity, "OMI_physics_gravity", _OMI,
    Property("gravity", "gravity", NUMBER, carried=carries.GRAVITY, unit="m/s^2"),
    Property("direction", "direction", DIRECTION),
)  # fmt: skip
GRAVITY: Final = Properties(
    GravityVolume, "OMI_physics_gravity", _OMI,
    Property("gravity", "source.gravity", NUMBER, carried=carries.GRAVITY, unit="m/s^2"),
    Property("priority", "priority", WHOLE, carried=carries.PRIORITY),
    Property("replace", "replace", BOOLEAN),
    Property("stop", "stop", BOOLEAN),
    inner=GravityField,
)  # fmt: skip

_DISTANCE: Final = Property(
    "unitDistance", "source.unit_distance", NUMBER,
    range=AT_LEAST_ZERO, carried=carries.POSITION, unit="m",
)  # fmt: skip
_RADIUS: Final = Property(
    "radius", "source.radius", NUMBER,
    range=AT_LEAST_ZERO, carried=carries.EXTENT, unit="m", default=1.0,
)  # fmt: skip
_DIRECTION: Final = Property("direction", "source.direction", DIRECTION)
_POINTS: Final = Property(
    "points", "source.points", POINTS, carried=carries.POSITION, unit="m", default=MISSING
)


def _block(kind: GravityFieldKind, *entries: Property) -> Properties:
    what = f"a {kind.value} field"
    return Properties(GravityVolume, what, _OMI, *entries, inner=GravityField)


GRAVITY_BLOCKS: Final[Mapping[GravityFieldKind, Properties]] = {
    kind: _block(kind, *entries)
    for kind, entries in {
        GravityFieldKind.DIRECTIONAL: (_DIRECTION,),
        GravityFieldKind.DISC: (_DISTANCE, _RADIUS),
        GravityFieldKind.LINE: (_DISTANCE, _POINTS),
        GravityFieldKind.POINT: (_DISTANCE,),
        GravityFieldKind.SHAPED: (_DISTANCE,),
        GravityFieldKind.TORUS: (_DISTANCE, _RADIUS),
    }.items()
}
"""The block of a gravity volume that is called like its kind."""

TABLES: Final[tuple[Properties, ...]] = (
    MOTION, MATERIAL, FILTER, LIMIT, DRIVE, JOINT, BOX, SPHERE, CAPSULE, CYLINDER, PLANE, MESH,
    WORLD_GRAVITY, GRAVITY, *GRAVITY_BLOCKS.values(),
)  # fmt: skip
"""The tables of all objects of the specifications."""
