"""The arrays of a scene's articulations, which all kernels of a step work on.

There are three: integers (structure and switches), floats (model, state and memory: what a snapshot
holds) and work (what a step derives from them). A :class:`SceneHeader` stands first in the
integers, an :class:`Articulation` for each articulation behind it. A field holds a count, a switch,
or a table, whose array and shape are declared beside it: kernels read entry ``i, j`` of the mass
matrix as ``a.mass[i, j]``, and take one articulation, which knows where its arrays are. What
may be set is all but structure and model; who sets a table says so.

*Frames* are the links that carry mass or a joint, and the anchors; parents come before children.
*Velocities* (degrees of freedom) are numbered from the leaves to the bases, so that a factorisation
in that order makes no new entries (Featherstone, "Rigid Body Dynamics Algorithms", 6.5). *Rows* are
scalar constraints on velocities: limits and drives, then loop constraints. Vectors are in world
axes, points relative to the reference point; spatial vectors are angular, then linear at the
reference point.

The file is long because each field is declared here, and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

from gltf_bullet.numba_aot import (
    FloatTable,
    IntTable,
    array,
    kernel,
    place_of,
    record,
    record_reader,
)
from gltf_bullet.solver.tables import FLOATS, INTS, MEMORY, WORK, count, offsets, table
from gltf_bullet.transforms import FloatArray, IntArray

# --- rows of tables -------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """A constraint between two articulations that one was cut into."""

    first: int = 1
    """Offset of an articulation's record."""
    first_frame: int = 1
    second: int = 1
    second_frame: int = 1
    row_count: int = 1
    size: int = 0


class _Link(NamedTuple):
    """Mass properties of a frame, and where it is in its parent."""

    rotation: int = 9
    """[3, 3] parent_from_link at coordinate 0."""
    translation: int = 3
    axis: int = 3
    com: int = 3
    """Centre of mass in the link frame [m]."""
    inertial: int = 9
    """[3, 3] link_from_inertial."""
    mass: int = 1
    inertia: int = 3
    """Principal moments of inertia."""
    gravity_factor: int = 1
    half_thickness: int = 1
    """Half thickness of the body's thinnest collider [m], inf without one."""
    half_length: int = 1
    """Half length of the whole body [m]."""
    size: int = 0


class _Pose(NamedTuple):
    """A frame in the world."""

    rotation: int = 9
    """[3, 3] world_from_link."""
    origin: int = 3
    com: int = 3
    inertia: int = 6
    """xx, yy, zz, xy, xz, yz about the centre of mass."""
    size: int = 0


CUT, LINK, POSE = offsets(_Cut), offsets(_Link), offsets(_Pose)

# --- records --------------------------------------------------------------------------------------


@record
class SceneHeader:
    """All articulations of a scene."""

    ints: IntArray = array()
    floats: FloatArray = array()
    work: FloatArray = array()

    articulation_count: int = count("a")
    articulations: IntArray = table(INTS, "a")
    """Offset of the record of each articulation."""
    cut_count: int = count("k")
    cut: IntTable = table(INTS, "k", CUT.size)
    cut_local: FloatTable = table(FLOATS, "k", 6)
    """The constrained point in the first frame, then in the second."""
    cut_impulse: FloatTable = table(FLOATS, "k", 6)
    """Impulses of the rows of cuts in the last step; memory."""
    part: int
    """Number of the coming engine step among those that a step is divided into."""
    substeps: int
    """Substeps that the engine makes of one engine step."""


@record
class Articulation:
    """One articulation: a forest of links, its rows, and its share of a step."""

    ints: IntArray = array()
    floats: FloatArray = array()
    work: FloatArray = array()

    # --- counts ---

    frame_count: int = count("f")
    dof_count: int = count("n")
    row_count: int = count("r")
    """Count of the rows of limits and drives."""
    closure_count: int = count("c")
    """Count of the loop constraints that the engine holds."""
    total_rows: int = count("m")
    """Count of all rows: those of limits and drives, then those of loop constraints."""
    closure_row_count: int = count("q")
    """Count of the rows of loop constraints."""
    base_dof_count: int = count("b")
    """Count of the velocities of floating bases, which are the last ones."""
    state_size: int = count("s")

    # --- switches ---

    participation: int
    """1: it takes part in the coming solve, 2: it only passes forces on, 0: neither."""
    mispredicted: int
    """1 if the velocities after the last step differ from those that its solve predicted."""
    uses_motors: int
    """1 if velocity motors of the engine replace the torques of the rows."""
    state_set_by_user: int
    """1 if joints, bases or their velocities were set since the last step."""
    outside_limit: int
    """1 if an axis was set beyond a limit, so that the engine's own limit must let it return."""
    external_drive_started: int
    """1 if a motor that is not ours has begun to drive an axis and no warning was given yet."""
    is_untouched: int
    """1 if it has no contacts, now or in the last step: what turning does can be foreseen then."""
    open_loop: int
    """1 + the number of a loop that cannot be closed, 0 for none."""
    overshot_row: int
    """1 + a row over several axes whose limit was exceeded in a step, 0 for none."""
    overshoot_reported: int
    """1 if a warning about an exceeded limit was given."""
    steps_for_speed: int
    """Engine steps that one had to be made of for the fastest joint, where it is not resolved."""
    speed_reported: int
    """1 if a warning about such a joint was given."""
    block: int
    """Number of the articulation's block in the islands of the step, -1 for none."""
    reference_frame: int
    """The base or anchor that the reference point moves with."""
    first_state: int
    """Offset of ``state`` in the floats."""

    # --- structure ---

    frame_parent: IntArray = table(INTS, "f")
    """-1 for bases and anchors."""
    frame_joint: IntArray = table(INTS, "f")
    """Joint types, as below."""
    frame_state: IntArray = table(INTS, "f")
    """Offsets of the joints' coordinates in the floats: those of anchors are shared."""
    frame_first_dof: IntArray = table(INTS, "f")
    """First velocity of each frame's own joint, -1 without one."""
    frame_last_dof: IntArray = table(INTS, "f")
    """Deepest velocity that moves each frame, -1 for none."""
    frame_root: IntArray = table(INTS, "f")
    """The base or anchor that each frame hangs on."""
    dof_parent: IntArray = table(INTS, "n")
    """Next velocity towards the base, -1 for none."""
    dof_frame: IntArray = table(INTS, "n")
    is_base_dof: IntArray = table(INTS, "n")
    """1 for the velocities of floating bases."""
    row_metric: IntArray = table(INTS, "r")
    """Metrics, as below."""
    row_axis: IntArray = table(INTS, "r")
    """Measured axis; the remaining one for LINE and CONE."""
    row_tilt_axis: IntArray = table(INTS, "r")
    """Tilting axis of SWING."""
    row_frame_a: IntArray = table(INTS, "r")
    row_frame_b: IntArray = table(INTS, "r")
    row_dof: IntArray = table(INTS, "r")
    """Velocity of COORDINATE rows, -1 for all others."""
    row_is_drive: IntArray = table(INTS, "r")
    row_by_acceleration: IntArray = table(INTS, "r")
    """1 for drives whose gains are per unit of effective mass."""
    row_recovering: IntArray = table(INTS, "r")
    """1 for limits that are violated since the load or a change, while they recover; memory."""
    closure_first: IntArray = table(INTS, "c")
    """Frame of the first end of each loop constraint."""
    closure_second: IntArray = table(INTS, "c")
    closure_size: IntArray = table(INTS, "c")
    """Count of the rows: 3 for a point, 6 for a weld."""
    command_dof: IntArray = table(INTS, "n")
    """Velocity that belongs to each command."""
    own_motor: IntArray = table(INTS, "n")
    """1 for motors that this solve has set, in the order of commands."""

    # --- model and state ---

    link: FloatTable = table(FLOATS, "f", LINK.size)
    state: FloatArray = table(FLOATS, "s")
    """Coordinates and velocities of all joints and bases."""
    row_lower: FloatArray = table(FLOATS, "r")
    row_upper: FloatArray = table(FLOATS, "r")
    row_stiffness: FloatArray = table(FLOATS, "r")
    """inf for hard rows."""
    row_damping: FloatArray = table(FLOATS, "r")
    row_position_target: FloatArray = table(FLOATS, "r")
    row_velocity_target: FloatArray = table(FLOATS, "r")
    row_max_force: FloatArray = table(FLOATS, "r")
    row_local_a: FloatTable = table(FLOATS, "r", 7)
    """Attachment in frame a: position, rotation xyzw."""
    row_local_b: FloatTable = table(FLOATS, "r", 7)
    closure_local: FloatTable = table(FLOATS, "c", 6)
    """The constrained point in the first frame, then in the second."""
    reference_offset: FloatArray = table(FLOATS, 3)
    """The reference point in the reference frame."""
    field_acceleration: FloatTable = table(FLOATS, "f", 3)
    """Accelerations by gravity fields that the engine does not know [m/s^2]."""
    announced_wrench: FloatTable = table(FLOATS, "f", 6)
    """Torque at the centre of mass and force that the user announced for the step."""
    motor_force_is_old: FloatArray = table(FLOATS, "n")
    """1 for motors whose force was read before, so that the engine's answer is an old one."""

    # --- memory: what a step leaves to the next one ---

    last_impulse: FloatArray = table(MEMORY, "m")
    """Impulses of all rows in the last step [N s, N m s]."""
    last_compliance: FloatArray = table(MEMORY, "m")
    """Inverse masses of all rows in the last step [1/kg, 1/(kg m^2)], 0 if there was none."""
    persistent_force: FloatArray = table(MEMORY, "n")
    """Generalized force of the rows that will act in the next step too [N, N m]."""
    last_dt: FloatArray = table(MEMORY, 1)
    """Length of the last engine step [s], 0 if there was none."""
    expected_velocity: FloatArray = table(MEMORY, "n")
    """Velocities after the last step as its solve predicted them."""
    external_force: FloatArray = table(MEMORY, "n")
    """Estimated generalized force that others apply, from the balance of momentum."""
    momentum_residual: FloatArray = table(MEMORY, "n")
    """The same of the last step alone, before what does not persist was removed."""
    external_pulse: FloatArray = table(MEMORY, "n")
    """Estimated generalized force that others have given to the first part of a divided step, and
    that its other parts are given again."""
    first_force: FloatArray = table(MEMORY, "n")
    """Force in the first part of the last step, lasting forces included; 0 without a pulse."""
    lasting_force: FloatArray = table(MEMORY, "n")
    """Estimated generalized force of others that acts in every part by itself."""
    predicted_contact_force: FloatArray = table(MEMORY, "n")
    """Generalized force of contacts in the last step as its solve predicted it."""
    last_mass: FloatTable = table(MEMORY, "n", "n")
    """Mass matrix at the beginning of the last step."""
    compliant_force: FloatArray = table(MEMORY, "n")
    """Generalized force of drives and soft limits in the last step."""
    last_state: FloatArray = table(MEMORY, "s")
    """Coordinates and velocities as they were read or set last."""
    is_at_last_state: FloatArray = table(MEMORY, 1)
    """1 if no step lies between the last state and the next reading."""
    externally_driven: FloatArray = table(MEMORY, "n")
    """1 for axes that are driven by a motor that is not ours."""
    idle_steps: FloatArray = table(MEMORY, "n")
    """Steps in which that motor seems to be off."""
    external_motor_force: FloatArray = table(MEMORY, "n")
    """Force of the motors of the user in the last step, on axes that they drive."""
    external_motor_change: FloatArray = table(MEMORY, "n")
    """Difference between what these motors exerted in the last step and what was assumed."""
    last_motor_impulse: FloatArray = table(MEMORY, "n")
    """Impulses of all motors as they were read last, in the order of commands."""
    usual_residual: FloatArray = table(MEMORY, "n")
    """Momentum residual while a motor of the user is known to act."""

    # --- work: kinematics and dynamics ---

    reference_point: FloatArray = table(WORK, 3)
    """World position."""
    pose: FloatTable = table(WORK, "f", POSE.size)
    twist: FloatTable = table(WORK, "f", 6)
    """Present velocities of the frames."""
    mean_twist: FloatTable = table(WORK, "f", 6)
    """Velocities of the frames in a pass of centring."""
    acceleration: FloatTable = table(WORK, "f", 6)
    """Accelerations of the frames if no degree of freedom accelerates."""
    wrench: FloatTable = table(WORK, "f", 6)
    """Scratch of the recursions."""
    composite: FloatTable = table(WORK, "f", 10)
    """Mass, first moment and inertia of each subtree about the reference point."""
    axis: FloatTable = table(WORK, "n", 6)
    """Motion of each degree of freedom."""
    mass: FloatTable = table(WORK, "n", "n")
    """Mass matrix M."""
    factor: FloatTable = table(WORK, "n", "n")
    """Upper triangle U with U^T U = M."""
    base_mass: FloatTable = table(WORK, "b", "b")
    """Mass matrix of the floating bases alone."""
    base_factor: FloatTable = table(WORK, "b", "b")
    """Its factor."""
    velocity: FloatArray = table(WORK, "n")
    """Present velocities."""
    free_velocity: FloatArray = table(WORK, "n")
    """Velocities after the step if no row acts."""
    predicted_impulse: FloatArray = table(WORK, "m")
    """Impulses of all rows as they are foreseen before the solve."""
    predicted_speed: FloatArray = table(WORK, "m")
    """J v of all rows at the velocities that the search for these impulses begins with."""
    predicted_row_force: FloatArray = table(WORK, "n")
    """[n], N or N m: generalized force of all rows as it is foreseen before the solve."""
    trial_velocity: FloatArray = table(WORK, "n")
    """Velocities for which the curvature of a row is evaluated."""
    bias: FloatArray = table(WORK, "n")
    """Coriolis, centrifugal and gyroscopic forces at the present velocities."""
    centred_bias: FloatArray = table(WORK, "n")
    """Bias forces at the mean of old and new velocities."""
    coriolis_share: FloatArray = table(WORK, 1)
    """Share of the velocity that bias forces turn over in the step."""
    applied_force: FloatArray = table(WORK, "n")
    """Known generalized forces, gravity included."""
    added_force: FloatArray = table(WORK, "n")
    """The part of the known forces that the engine does not apply itself."""
    measured_contact_force: FloatArray = table(WORK, "n")
    """Generalized force of contacts in the last step as the engine reports it."""
    scratch: FloatArray = table(WORK, "scratch")
    saved_state: FloatArray = table(WORK, "s")
    """Coordinates and velocities before joints are moved on trial."""

    # --- work: rows, and what the solve finds ---

    row_value: FloatArray = table(WORK, "m")
    row_rate: FloatArray = table(WORK, "m")
    """J v at present, prescribed motion included."""
    row_drift: FloatArray = table(WORK, "m")
    """Prescribed part of the rate."""
    row_jacobian: FloatTable = table(WORK, "m", "n")
    row_half: FloatTable = table(WORK, "m", "n")
    """U^-T J^T: products of two rows of it are those of J M^-1 J^T."""
    row_target: FloatArray = table(WORK, "m")
    """Target of J v after the step, without the drift."""
    row_softness: FloatArray = table(WORK, "m")
    row_low: FloatArray = table(WORK, "m")
    """Lower bound of the impulse."""
    row_high: FloatArray = table(WORK, "m")
    """Upper bound of the impulse."""
    row_compliance: FloatArray = table(WORK, "m")
    """J M^-1 J^T, the inverse effective mass."""
    row_curvature: FloatArray = table(WORK, "m")
    """Change of the value in the step beyond its rate if no row acts."""
    row_reduction: FloatArray = table(WORK, "m")
    """Reduction of the target with which the curvature of the row adds no energy."""
    energy_budget: FloatArray = table(WORK, 1)
    """Energy that all rows together may add in the step because of curvature [J]."""
    closure_gap: FloatTable = table(WORK, "c", 3)
    """Second end minus first end, world axes [m]."""
    closure_bend: FloatTable = table(WORK, "c", 3)
    """Change of the gap in the coming step by turning links, beyond its rate, world axes [m]."""
    closure_shift: FloatTable = table(WORK, "c", 3)
    """Addition to the gap that the engine sees, world axes [m]."""
    closure_compliance: FloatTable = table(WORK, "q", "q")
    """J M^-1 J^T of these rows."""
    closure_factor: FloatTable = table(WORK, "q", "q")
    """Its Cholesky factor."""
    closure_impulse: FloatArray = table(WORK, "q")
    """Wanted change of these rows, then the multipliers that bring it about."""
    closure_motion: FloatArray = table(WORK, "n")
    """Change of the coordinates that closes the loops."""
    row_force: FloatArray = table(WORK, "n")
    """Generalized force of limits and drives."""
    all_row_force: FloatArray = table(WORK, "n")
    """Generalized force of all rows, those of loops and cuts included."""
    joint_force: FloatArray = table(WORK, "n")
    """Generalized force that the engine shall apply."""
    command: FloatArray = table(WORK, "n")
    """The same in the order in which the engine is given it."""
    motor_target: FloatArray = table(WORK, "n")
    """Velocities for the engine's own motors, in the order of commands."""
    motor_bound: FloatArray = table(WORK, "n")
    """Largest forces of these motors, 0 for none."""
    motor_force: FloatArray = table(WORK, "n")
    """Forces that the engine's motors exerted in the last step, in the order of commands."""


scene_at = record_reader(SceneHeader)
articulation_at = record_reader(Articulation)


@kernel
def articulation_in(scene: SceneHeader, start: int) -> Articulation:
    """The articulation of a scene whose record begins at a number of the integers."""
    return articulation_at(scene.ints, scene.floats, scene.work, start)


@kernel
def articulation_of(scene: SceneHeader, number: int) -> Articulation:
    """One of a scene's articulations."""
    return articulation_in(scene, scene.articulations[number])


@kernel
def scene_around(a: Articulation) -> SceneHeader:
    """The scene of an articulation."""
    return scene_at(a.ints, a.floats, a.work, 0)


# Python sets these in each step: an entry of an array is set in a tenth of the time.
SUBSTEPS, PART = (place_of(SceneHeader, name) for name in ("substeps", "part"))
PARTICIPATION = place_of(Articulation, "participation")


def scratch_size(dof_count: int) -> int:
    """Floats of scratch: two attachment frames, their relative pose, a direction; or 4 n."""
    return max(128, 4 * dof_count + 32)


# --- joint types, and what their coordinates are --------------------------------------------------

FIXED = 0
REVOLUTE = 1
"""Coordinate, velocity."""
PRISMATIC = 2
SPHERICAL = 3
"""Rotation xyzw, velocity in the child's axes; both about those of its inertial frame."""
FLOATING = 4
"""Centre of mass, rotation xyzw of the inertial frame, its velocity, its spin; world."""
ANCHOR = 5
"""Position, rotation xyzw, velocity, spin, acceleration, angular acceleration; world."""
STATE_SIZES = (0, 2, 2, 7, 13, 19)
"""By joint type; PRISMATIC as REVOLUTE."""

# --- metrics --------------------------------------------------------------------------------------

COORDINATE = 0
TWIST_ANGLE = 1
ROTATION = 2
SWING = 3
OFFSET = 4
LINE = 5
POINT = 6
CONE = 7
ANGLE = 8
