"""Where everything of an articulation stands in the arena of its scene.

An arena is three flat arrays: integers (structure and switches), floats (model, state and memory:
what a snapshot holds) and work (what a step derives from them). Each articulation is a record of
integers, beginning with a header whose slots are named here; a slot holds a count, or the offset
of a table in one of the arrays. Kernels take the three arrays and the offset of a record.

*Frames* are the links that carry mass or a joint, and the anchors; parents come before children.
*Velocities* (degrees of freedom) are numbered from the leaves to the bases, so that a factorisation
in that order makes no new entries (Featherstone, "Rigid Body Dynamics Algorithms", 6.5). Vectors
are in world axes, points relative to ``REFERENCE``; spatial vectors are angular, then linear at the
reference point.
"""

from __future__ import annotations

# --- the arena itself, before its records ---------------------------------------------------------

ARTICULATIONS = 0
"""Count."""
RECORDS = 1
"""[articulations], ints: their records."""
CUTS = 2
"""Count of constraints between two articulations that one was cut into."""
CUT_SIDES = 3
"""[cuts, CUT_SIZE], ints: record and frame of both sides, number of rows."""
CUT_LOCAL = 4
"""[cuts, 6], floats: the point in the first frame, then in the second."""
CUT_IMPULSE = 5
"""[cuts, 6], floats: what its rows did in the last step; memory."""
SUBSTEPS = 7
"""Steps that the engine makes of one."""
PART = 6
"""Number of the coming engine step among those that a step is made of."""
PARTS = 8
"""How many those are; 0: one."""
ARENA_HEADER = 9
CUT_SIZE = 5

# --- header slots: counts -------------------------------------------------------------------------

FRAME_COUNT = 0
DOF_COUNT = 1
ROW_COUNT = 2
"""Rows of limits and drives."""
CLOSURE_COUNT = 3
TOTAL_ROWS = 4
"""Rows of limits and drives, then those of loop constraints."""
BASE_DOF_COUNT = 5
"""Velocities of floating bases, last of all."""

# --- header slots: switches -----------------------------------------------------------------------

ACTS = 6
"""Whether the articulation takes part in the coming solve (1) or only passes its state on (0)."""
WHIRLS = 7
"""Whether Coriolis and gyroscopic forces can act at all: not on a lone hinge or slide."""

# --- header slots: tables of integers -------------------------------------------------------------

FRAME_PARENT = 8
"""[f], -1 for bases and anchors."""
FRAME_JOINT = 9
"""[f], one of the joint types below."""
FRAME_STATE = 10
"""[f], offset of the joint's coordinates in the floats."""
FRAME_FIRST_DOF = 11
"""[f], first velocity of the frame's own joint, -1 without one."""
FRAME_LAST_DOF = 12
"""[f], deepest velocity that moves the frame, -1 for none."""
FRAME_ROOT = 13
"""[f], the base or anchor that the frame hangs on."""
DOF_PARENT = 14
"""[n], next velocity towards the base, -1 for none."""
DOF_FRAME = 15
"""[n]"""
ROW_METRIC = 16
"""[r], one of the metrics below."""
ROW_AXIS = 17
"""[r], watched axis; the remaining one for LINE and CONE."""
ROW_ABOUT = 18
"""[r], tilting axis of SWING."""
ROW_FRAME_A = 19
ROW_FRAME_B = 20
ROW_DOF = 21
"""[r], velocity of COORDINATE rows, -1 for measured ones."""
ROW_IS_DRIVE = 22
ROW_BY_ACCELERATION = 23
ROW_RECOVERING = 24
"""[r], 1 for limits violated at load or by a change, on their way back; memory."""
CLOSURE_FIRST = 25
"""[c], frame."""
CLOSURE_SECOND = 26
CLOSURE_SIZE = 27
"""[c], rows: 3 for a point, 6 for a weld."""

# --- header slots: tables of floats ---------------------------------------------------------------

LINK = 28
"""[f, LINK_SIZE], fields below."""
STATE = 29
"""[s], coordinates and velocities; :data:`FRAME_STATE` tells where each joint's are."""
STATE_SIZE = 111
"""Count s."""
ROW_LOWER = 30
ROW_UPPER = 31
ROW_STIFFNESS = 32
"""[r], inf: hard."""
ROW_DAMPING = 33
ROW_POSITION_TARGET = 34
ROW_VELOCITY_TARGET = 35
ROW_MAX_FORCE = 36
ROW_LOCAL_A = 37
"""[r, 7], attachment in frame a: position, rotation xyzw."""
ROW_LOCAL_B = 38
CLOSURE_LOCAL = 39
"""[c, 6], the point in the first frame, then in the second."""
PULL = 40
"""[f, 3], accelerations that the engine does not know (gravity fields), m/s^2."""
EXTERNAL = 41
"""[f, 6], torque at the centre of mass and force that users announced for the step."""
MEMORY = 42
"""First of the floats that one step leaves to the next; up to :data:`MEMORY_END`."""
LAST_IMPULSE = 43
"""[m], of all rows in the last step, N s or N m s."""
LASTING = 44
"""[n], generalized force of the rows that last, N or N m."""
LAST_DT = 45
"""[1], s"""
EXPECTED = 46
"""[n], velocities that the last solve expected after its step."""
UNKNOWN = 47
"""[n], generalized force that others apply, found by the balance of momentum."""
COMING = 98
"""[1] The same of the coming step."""
PULSE = 97
"""[n], generalized force that others have given for one step, which is divided."""
LATELY = 88
"""[n], the estimate of UNKNOWN before what does not last was taken out of it."""
TOUCHED = 89
"""[n], generalized force of the contacts that the last solve foresaw."""
LAST_VELOCITY = 95
"""[n], velocities when the last step began."""
LAST_MASS = 106
"""[n, n], mass matrix at the beginning of the last step."""
NEEDED = 96
"""[1] Engine steps that the last step needed, as a number: see ``step_division``."""
GIVING = 104
"""[n], that of drives and soft limits, which give way: they push less where they are outrun."""
LAST_STATE = 107
"""[s], coordinates and velocities as they were known last."""
PLACED = 108
"""[1], 1 where no step lies between LAST_STATE and what the engine tells next."""
TAKEN = 109
"""[n], 1 for axes that somebody else's motor has."""
QUIET = 110
"""[n], steps in which that motor seems to be off."""
MEMORY_END = 48

# --- header slots: tables of work -----------------------------------------------------------------

REFERENCE = 49
"""[3], world position of the reference point."""
POSE = 50
"""[f, POSE_SIZE], fields below."""
TWIST = 51
"""[f, 6], velocities now."""
TWIST_MEAN = 52
"""[f, 6], velocities of a centring pass."""
ACCELERATION = 53
"""[f, 6], with no degree of freedom accelerating."""
WRENCH = 54
"""[f, 6], scratch of the recursions."""
COMPOSITE = 55
"""[f, 10], mass, first moment and inertia about the reference point of each subtree."""
AXIS = 56
"""[n, 6], motion of each degree of freedom."""
MASS = 57
"""[n, n]"""
FACTOR = 58
"""[n, n], upper triangle U with U^T U = M."""
VELOCITY = 59
"""[n], now."""
VELOCITY_FREE = 60
"""[n], after the step if no row did anything."""
BIAS = 61
CENTRED = 62
"""[n], bias forces at the mean of old and new velocities."""
APPLIED = 63
"""[n], known generalized forces, gravity included."""
HANDED = 64
"""[n], the part of them that the engine does not apply itself."""
TAU = 65
"""[n], what the engine shall apply."""
ROW_FORCE = 66
"""[n], the part of it that comes from limits and drives."""
SCRATCH = 67
"""[max(SCRATCH_SIZE, 4 n)]"""
ROW_VALUE = 68
ROW_RATE = 69
"""[m], J v now, prescribed motion included."""
ROW_DRIFT = 70
"""[m], share of the rate that is prescribed."""
ROW_JACOBIAN = 71
"""[m, n]"""
ROW_TARGET = 72
"""[m], of J v' without the drift."""
ROW_SOFTNESS = 73
ROW_LOW = 74
"""[m], bound of the impulse."""
ROW_HIGH = 75
ROW_COMPLIANCE = 76
"""[m], J M^-1 J^T."""
IMPULSE = 77
"""[m], found by the solve."""
CLOSURE_GAP = 78
"""[c, 3], second end minus first, world, m."""
NEXT_VELOCITY = 79
"""[n], found by the solve."""
WHIP = 80
"""[1], share of its velocity that inertia alone turned over."""
REFERENCE_FRAME = 81
"""Count: the base or anchor that the reference point moves with."""
REFERENCE_OFFSET = 82
"""[3], floats: the reference point in that frame."""
BLOCK = 83
"""Number of the articulation's block in the island of the step, -1 for none."""
BASE_MASS = 85
"""[2 b, b], of the floating bases alone, and its factor."""
IS_BASE_DOF = 84
"""[n], ints: 1 for the velocities of floating bases."""
COMMAND = 86
"""[n], TAU in the order in which the engine is given it."""
COMMAND_DOF = 87
"""[n], ints: velocity of each command."""
CONTACT_FORCE = 90
"""[n], work: generalized force that the contacts of the last step did exert."""
MISPREDICTED = 91
"""Switch: 1 where the last step went otherwise than its solve foresaw."""
MOTOR_TARGET = 92
"""[n], work: velocities for the engine's own motors, in the order of commands."""
MOTOR_BOUND = 93
"""[n], work: their largest force, 0 for none."""
ROW_SUM = 94
"""[n], work: force of all rows, loop and cut constraints included."""
MOTORS = 102
"""Switch: 1 where the engine's velocity motors shall bring the rows about."""
SET_BY_OTHERS = 112
"""Switch: 1 where others have set joints, bases or their velocities since the last step."""
STRANDED = 113
"""Switch: 1 where they have put an axis beyond a limit: the engine's own must let it come back."""
MOTOR_FORCE = 114
"""[n], work: what the engine's motors exerted in the last step, in the order of commands."""
MOTOR_LOAD = 117
"""[n], what the motors of others exerted in the step before, on axes that they have: the solve
reckons with it; floats, memory."""
MOTOR_CHANGE = 118
"""[n], memory: by how much they did otherwise in the last step."""
MOTOR_IMPULSE = 115
"""[n], memory: the same as it was told last, times the length of a step."""
FELT = 129
"""[n], memory: loads that nobody knows while a motor of others is known to act."""
IS_HEARD = 130
"""[n], floats: 1 where what the engine tells of a motor counts no more."""
TAKES_OVER = 131
"""Switch: 1 where a motor of others has taken an axis over and nobody was told."""
OWN_MOTOR = 116
"""[n], ints: 1 for motors that this solve has set, in the order of commands."""
ROW_BEND = 119
"""[m], work: what a step adds to the values beyond their rates if no row does anything."""
AHEAD = 120
"""[n], work: velocities at which a row looks ahead."""
LOOKS_AHEAD = 122
"""Switch: 1 where rows reckon with how far their metrics bend in the step."""
CLOSURE_HALF = 123
"""[q, n], work: q rows of the closures, half of the way through the mass matrix."""
CLOSURE_RESPONSE = 124
"""[q, q], work: how they give way to each other's pull, ..."""
CLOSURE_FACTOR = 125
"""[q, q] ... and its factor."""
CLOSURE_PULL = 126
"""[q], work: what they are wanted to do."""
CLOSURE_WAY = 127
"""[n], work: and the coordinates, so that they do."""
TORN = 128
"""1 + a loop that nothing can close; 0 for none."""
OVERSHOT = 135
"""1 + a row of several axes whose limit a body has left, going round; Python names it."""
OVERSHOT_NAMED = 136
"""Switch: 1 where it has."""
ROW_RELIEF = 137
"""[m], work: what a row may ask less of for the bend of its metric, so that this pays nothing."""
MAY_PAY = 138
"""[1], work: energy that all rows may pay in the step for bends, J."""
OPEN_STATE = 140
"""[s], work: coordinates before loops are closed."""
HEADER_SIZE = 143

SCRATCH_SIZE = 128
"""Least floats of scratch: two attachment frames, their relative pose, and a direction."""

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

# --- fields of LINK -------------------------------------------------------------------------------

LINK_ROTATION = 0
"""[3, 3] parent_from_link at coordinate 0."""
LINK_TRANSLATION = 9
LINK_AXIS = 12
LINK_COM = 15
LINK_INERTIAL = 18
"""[3, 3] link_from_inertial."""
LINK_MASS = 27
LINK_INERTIA = 28
"""[3], principal moments."""
LINK_GRAVITY_FACTOR = 31
LINK_HALF_THICKNESS = 32
"""Of the body's thinnest collider [m], inf without one."""
LINK_HALF_LENGTH = 33
"""Of the whole body [m]."""
LINK_SIZE = 34

# --- fields of POSE -------------------------------------------------------------------------------

POSE_ROTATION = 0
"""[3, 3] world_from_link."""
POSE_ORIGIN = 9
POSE_COM = 12
POSE_INERTIA = 15
"""xx, yy, zz, xy, xz, yz about the centre of mass."""
POSE_SIZE = 21

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
