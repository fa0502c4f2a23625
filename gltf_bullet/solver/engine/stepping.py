"""The kernel of the compiled step: it reads the engine, solves, applies the forces and steps."""

from __future__ import annotations

from gltf_bullet.numba_aot import (
    IntTable,
    call,
    cells,
    doubles_at,
    entry,
    floats_at,
    ints_at,
    kernel,
    place_of,
    record,
    record_reader,
    size_of,
)
from gltf_bullet.solver import scene_table
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.calls import (
    BODY_SIZE,
    POINT_WORDS,
    Engine,
    begin_call,
    body_at,
    byte_at,
    change_time_step,
    copy_point,
    engine_at,
    find_contacts,
    is_as_known,
    known_time_step,
    last_body,
    last_constraint,
    make_step,
    plan_at,
    read_pose_only,
    read_settings,
    read_state,
    user_data,
)
from gltf_bullet.solver.engine.commands import apply_commands
from gltf_bullet.solver.engine.contact_reading import (
    free_bodies_of,
    has_contacts,
    read_contacts,
)
from gltf_bullet.solver.engine.free_steps import after_part, before_part
from gltf_bullet.solver.engine.kinematic_bodies import anchors_rest, any_pressed
from gltf_bullet.solver.engine.slip import watch_slip
from gltf_bullet.solver.outcomes import (
    LOOPS_CHECKED,
    NEW_CONTACTS,
    NOT_APPLIED,
    NOT_MADE,
    OVER,
    PRESSES,
    REFUSED,
    SENSED,
    SLIDES,
    STATE_LOST,
    STEPPED,
    WENT_FAR,
)  # fmt: skip
from gltf_bullet.solver.scene_table import SCENE, scene_of
from gltf_bullet.solver.triggers.layout import FIND, FOLLOW
from gltf_bullet.transforms import FloatArray, IntArray

# --- triggers that watch a step -------------------------------------------------------------------


@record
class Watcher:
    """The triggers that watch a step, and how they are called; ids of free bodies follow."""

    watch: int
    """Address of the triggers' kernel, as a C function."""
    table: IntArray = cells(2)
    """Address and length of the triggers' integers."""
    numbers: IntArray = cells(2)
    """Address and length of their floats."""
    pairs: IntArray = cells(2)
    """Address and length of what receives the pairs."""
    poses: int
    """Offset of the poses of free bodies in the floats."""
    free_count: int
    """Count of the free bodies."""


watcher_at = record_reader(Watcher)
_WATCHER_SIZE = size_of(Watcher)
_FOLLOW_AND_FIND = FOLLOW | FIND


@kernel
def sense(scenes: IntTable, row: int, engine: Engine, client: int, dt: float) -> bool:
    """Find the pairs that may have met, after the joints were read; ``False`` without an answer."""
    ints = ints_at(scenes, row, SCENE.sense)
    watcher = watcher_at(ints, 0)
    numbers = doubles_at(watcher.numbers[0], watcher.numbers[1])
    for k in range(watcher.free_count):
        body = ints[_WATCHER_SIZE + k]
        if not read_pose_only(engine, client, body, numbers, watcher.poses + 7 * k):
            return False
    scenes[row, SCENE.pairs] = call(
        watcher.watch,
        (
            scenes[row, SCENE.ints], scenes[row, SCENE.ints + 1],
            scenes[row, SCENE.floats], scenes[row, SCENE.floats + 1],
            scenes[row, SCENE.work], scenes[row, SCENE.work + 1],
            watcher.table[0], watcher.table[1],
            watcher.numbers[0], watcher.numbers[1],
            watcher.pairs[0], watcher.pairs[1],
            _FOLLOW_AND_FIND,
            dt,
        ),
    )  # fmt: skip
    return True


# --- stages ---------------------------------------------------------------------------------------


CHECK_WORLD = 1
"""Check that the world's settings and the tags of the scenes' bodies are as known."""
READ = 2
"""Read the state of all joints."""
FIND_CONTACTS = 4
"""Find the contacts of the scenes."""
SET_UP_ROWS = 8
"""Set up the rows of all articulations, once a step."""
SOLVE = 16
"""Solve them."""
APPLY = 32
"""Apply the solved forces if the solve succeeded."""
STEP = 64
"""Make the engine's step if all forces were applied."""
REMEMBER_WORLD = 128
"""Remember the world's settings as known ones; nothing else."""
CLOSE = 512
"""Close the loops that the last step has opened; with READ only."""

FREE_FORCES = 256
"""Apply the forces that free bodies need, after the contacts were found."""
BY_SCENE = 2048
"""With STEP: neither close loops nor let triggers watch; each scene does so itself."""
FORCES = READ | FIND_CONTACTS | SET_UP_ROWS | SOLVE | APPLY
"""All stages but the engine's step."""
WHOLE_STEP = CHECK_WORLD | FORCES | FREE_FORCES | STEP
AT_ONCE = 50
"""Steps that are made before Python can hear Ctrl-C."""

_STAGES_OF_SOLVE = scene_table.SOLVE_ALL

# --- ownership of bodies --------------------------------------------------------------------------


@record
class Ownership:
    """The bodies of a scene and of its world, as last seen; a :class:`Tag` of each follows."""

    bodies: int
    """Count of the bodies in the world, times 2^32, plus the id of the last one."""
    next_tag: int
    """Number of the tag that is checked next."""
    tag_count: int
    constraints: int
    """Count of the constraints in the world, times 2^32, plus the id of the last one."""


@record
class Tag:
    """A user datum of the engine by which a body of ours is known."""

    datum: int
    """Its number."""
    text: IntArray = cells(7)
    """Its text, padded with zeros."""


ownership_at, tag_at = record_reader(Ownership), record_reader(Tag)
TAGS, TAG_SIZE = size_of(Ownership), size_of(Tag)
TEXT_BYTES = 8 * (TAG_SIZE - place_of(Tag, "text"))


@kernel
def _owns_bodies(engine: Engine, client: int, tags: IntArray) -> bool:
    """Tell whether the bodies are still those that were tagged; each call checks the next tag."""
    if len(tags) == 0:
        return False
    ownership = ownership_at(tags, 0)
    if ownership.bodies != last_body(engine, client):
        return False
    if ownership.constraints != last_constraint(engine, client):
        return False
    if ownership.tag_count == 0:  # bodies of a batch have no tags that can be read
        return True
    at = TAGS + TAG_SIZE * ownership.next_tag
    ownership.next_tag = (ownership.next_tag + 1) % ownership.tag_count
    text = user_data(engine, client, tag_at(tags, at).datum)
    expected = tags.ctypes.data + 8 * (at + TAG_SIZE) - TEXT_BYTES
    if text == 0:
        return False
    for k in range(TEXT_BYTES):
        if byte_at(text + k) != byte_at(expected + k):
            return False
        if byte_at(text + k) == 0:
            return True
    return False


@kernel
def _read(scenes: IntTable, engine: Engine, client: int) -> int:
    for row in range(len(scenes)):
        plan, floats = ints_at(scenes, row, SCENE.plan), floats_at(scenes, row, SCENE.floats)
        header, work = plan_at(plan, 0), floats_at(scenes, row, SCENE.work)
        motors = header.motors
        for k in range(header.body_count):
            body = body_at(plan, header.bodies + BODY_SIZE * k)
            found = read_state(engine, client, plan, body, floats, work, motors)
            if found:
                return found
            motors += body.axis_count + 6 * body.base_is_pushed
    return 0


@kernel
def _find_contacts(
    scenes: IntTable, engine: Engine, client: int, dt: float, gx: float, gy: float, gz: float
) -> int:
    found, asks = 0, False
    for row in range(len(scenes)):
        scenes[row, SCENE.touching] = 0
        asks |= plan_at(ints_at(scenes, row, SCENE.plan), 0).start_count > 0
    count = find_contacts(engine, client) if asks else 0
    if count < 0:
        return REFUSED
    for row in range(len(scenes) if count else 0):
        if not has_contacts(engine, ints_at(scenes, row, SCENE.plan)):
            continue
        known = read_contacts(
            engine, client,
            ints_at(scenes, row, SCENE.contacts),
            ints_at(scenes, row, SCENE.island_ints),
            floats_at(scenes, row, SCENE.island_floats),
            dt, gx, gy, gz,
        )  # fmt: skip
        scenes[row, SCENE.touching] = known
        if known < 0:
            found = NEW_CONTACTS
    return found


@kernel
def _address_of_row(scenes: IntTable, row: int) -> int:
    """A table of one row; its width is that of the table."""
    return int(scenes.ctypes.data + 8 * scenes.shape[1] * row)


@kernel
def _free_bodies(scenes: IntTable, row: int) -> int:
    """Count of the free bodies that a scene's contacts reach."""
    if scenes[row, SCENE.touching] == 0:
        return 0
    return int(free_bodies_of(ints_at(scenes, row, SCENE.contacts)))


@kernel
def _close(scenes: IntTable, engine: Engine, dt: float) -> int:
    """Close the loops that the last step has opened."""
    width = scenes.shape[1]
    close = (
        scenes.ctypes.data,
        len(scenes),
        width,
        scene_table.PREPARE_LOOPS,
        0,
        0,
        dt,
        0.0,
        0.0,
        0.0,
    )
    return int(call(engine.prepare, close))


@kernel
def _have_loops(scenes: IntTable) -> bool:
    for row in range(len(scenes)):  # kernels know no generators
        if plan_at(ints_at(scenes, row, SCENE.plan), 0).loop_count:
            return True
    return False


@kernel
def _sense(scenes: IntTable, engine: Engine, client: int, dt: float) -> bool:
    """Let the triggers of all scenes watch the step; return whether all have."""
    for row in range(len(scenes)):
        if not scenes[row, SCENE.sense + 1]:
            return False
    if _read(scenes, engine, client):
        return False
    for row in range(len(scenes)):  # noqa: SIM110  # kernels know no generators
        if not sense(scenes, row, engine, client, dt):
            return False
    return True


@kernel
def _remember_settings(scenes: IntTable, engine: Engine, client: int) -> int:
    if not read_settings(engine, client):
        return REFUSED
    for k in range(5):
        engine.known[k] = engine.scratch[k]
    for row in range(len(scenes)):
        tags = ints_at(scenes, row, SCENE.ownership)
        if len(tags):
            ownership = ownership_at(tags, 0)
            ownership.bodies = last_body(engine, client)
            ownership.constraints = last_constraint(engine, client)
    return 0


@kernel
def _is_known_world(scenes: IntTable, engine: Engine, client: int) -> bool:
    # Marks first of all: another client in this place may be of another kind.
    for row in range(len(scenes)):
        if not _owns_bodies(engine, client, ints_at(scenes, row, SCENE.ownership)):
            return False
    return bool(is_as_known(engine, client))


@kernel
def has_joints(scenes: IntTable, row: int) -> bool:
    """Tell whether a scene has anything to solve."""
    return bool(scene_of(scenes, row).articulation_count > 0)


@kernel
def _begin_part(scenes: IntTable, part: int) -> None:
    """Tell the solve which engine step of a step the coming one is."""
    for row in range(len(scenes)):
        scene_of(scenes, row).part = part


@kernel
def _go_through(
    scenes: IntTable,
    engine: Engine,
    client: int,
    stages: int,
    part: int,
    parts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """The stages of one engine step, the ``part``-th of a step's ``parts``."""
    if stages & STEP:
        for row in range(len(scenes)):
            if not anchors_rest(engine, client, floats_at(scenes, row, SCENE.anchors)):
                return REFUSED
    if stages & READ:
        found = _read(scenes, engine, client)
        if found:
            return found
    if stages & FIND_CONTACTS:
        found = _find_contacts(scenes, engine, client, dt, gx, gy, gz)
        if found:
            return found
    if stages & FREE_FORCES:
        for row in range(len(scenes)):
            free = floats_at(scenes, row, SCENE.free)
            if not before_part(engine, client, free, part, parts, dt, gx, gy, gz):
                return REFUSED
    found, width = 0, scenes.shape[1]
    if stages & SET_UP_ROWS:
        for row in range(len(scenes)):
            if not has_joints(scenes, row):
                continue
            one, contacts = _address_of_row(scenes, row), scenes[row, SCENE.touching]
            stated = (one, 1, width, scene_table.PREPARE_ROWS, 0, contacts, dt, gx, gy, gz)
            call(engine.prepare, stated)
    if stages & SOLVE:
        for row in range(len(scenes)):
            if not has_joints(scenes, row):
                continue
            one, contacts = _address_of_row(scenes, row), scenes[row, SCENE.touching]
            bodies = _free_bodies(scenes, row)
            solved = (one, 1, width, _STAGES_OF_SOLVE, 0, contacts, bodies, dt)
            status = call(engine.solve, solved)
            scenes[row, SCENE.status] = status
            found |= status
        if found:
            return found | NOT_APPLIED
    if stages & APPLY:
        for row in range(len(scenes)):
            apply_commands(
                engine,
                client,
                ints_at(scenes, row, SCENE.plan),
                ints_at(scenes, row, SCENE.ints),
                floats_at(scenes, row, SCENE.floats),
                floats_at(scenes, row, SCENE.work),
            )
    if stages & STEP:
        if not make_step(engine, client):
            return found | REFUSED
        found |= STEPPED
        for row in range(len(scenes)):
            scenes[row, SCENE.status] = 0
            free = floats_at(scenes, row, SCENE.free)
            if after_part(engine, client, free, dt, gx, gy, gz) > 0:
                scenes[row, SCENE.status], found = WENT_FAR, found | WENT_FAR
            slip = floats_at(scenes, row, SCENE.slip)
            if watch_slip(engine, client, slip, dt, gx, gy, gz):
                scenes[row, SCENE.status], found = SLIDES, found | SLIDES
            if any_pressed(engine, client, floats_at(scenes, row, SCENE.pressed), dt):
                scenes[row, SCENE.status], found = PRESSES, found | PRESSES
        if stages & BY_SCENE:
            return found
        if _have_loops(scenes):
            lost = _read(scenes, engine, client)
            if lost:
                return found | (lost & STATE_LOST)
            stages |= CLOSE
    closed = 0
    if stages & CLOSE:
        closed = _close(scenes, engine, dt)
        found |= LOOPS_CHECKED | closed
    is_settled = stages & STEP and not closed and not found & WENT_FAR
    if is_settled and _sense(scenes, engine, client, dt):
        found |= SENSED
    return found


@kernel
def _is_uneventful(scenes: IntTable, found: int) -> bool:
    """Tell whether the next step can follow without Python."""
    if found & ~OVER or not found & STEPPED:
        return False
    for row in range(len(scenes)):  # noqa: SIM110  # kernels know no generators
        if found & SENSED and scenes[row, SCENE.pairs] != 0:
            return False
    return True


@entry
def advance(scenes: IntTable, stages: int, dt: float, gx: float, gy: float, gz: float) -> int:
    """Go through some stages of a step of scenes of one world.

    Args:
        scenes: Their arrays, a row each: see ``scene_table.row_of``; receives the outcome of
            each, as is returned.
        stages: Which ones. STEP makes as many steps as ``steps`` in the first row says, each of
            ``parts`` engine steps, as long as nothing happens. ``steps`` receives how many were
            made, ``part`` how many engine steps of the next one; what is returned is of the last
            of these, which may be left to Python.
        dt: Length of an engine step [s].
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        The outcome of the last step: see ``outcomes``.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client, steps = begin_call(engine), scenes[0, SCENE.steps]
    scenes[0, SCENE.steps], scenes[0, SCENE.part] = 0, 0
    if client == 0:
        return REFUSED
    if stages & REMEMBER_WORLD:
        return _remember_settings(scenes, engine, client)
    if stages & CHECK_WORLD and not _is_known_world(scenes, engine, client):
        return REFUSED
    if not stages & STEP:
        return _go_through(scenes, engine, client, stages, 0, 1, dt, gx, gy, gz)
    parts, made, last, now = max(scenes[0, SCENE.parts], 1), 0, 0, stages
    wanted = parts * steps
    if parts > 1:
        change_time_step(engine, client, dt)
    while made == 0 or (made < wanted and _is_uneventful(scenes, last)):
        part = made % parts
        _begin_part(scenes, part)
        found = _go_through(scenes, engine, client, now, part, parts, dt, gx, gy, gz)
        if found & NOT_MADE:
            last = found if made == 0 or found & STATE_LOST else last
            break  # a step that Python shall make
        made, last = made + 1, found
        # Triggers have read the joints already.
        now = stages & ~READ if found & SENSED else stages
    is_over = made % parts == 0 and (last & STEPPED and not last & ~OVER)
    if parts > 1 and (made == 0 or is_over or last & STATE_LOST):
        # Else Python finishes the step, as long as a part of it.
        change_time_step(engine, client, known_time_step(engine))
    scenes[0, SCENE.steps], scenes[0, SCENE.part] = made // parts, made % parts
    return last


@entry
def advance_worlds(calls: IntTable, settings: FloatArray, function: int) -> int:
    """Call :func:`advance` for scenes of different worlds, each alone in its own.

    Args:
        calls: A row each: address and width of its row of the table of scenes, stages, and room for
            the outcome.
        settings: Four numbers each: length of an engine step [s], gravity [m/s^2].
        function: Address of :func:`advance` as a C function.

    Returns:
        0.
    """
    for k in range(len(calls)):
        own = settings[4 * k : 4 * k + 4]
        dt, gx, gy, gz = own[0], own[1], own[2], own[3]
        one = (calls[k, 0], 1, calls[k, 1], calls[k, 2], dt, gx, gy, gz)
        calls[k, 3] = call(function, one)
    return 0


@entry
def copy_contacts(scenes: IntTable, rows: FloatArray) -> int:
    """Read the world's contacts.

    Args:
        scenes: One of the world, see :func:`advance`.
        rows: Receives ROW_SIZE numbers of each, as many as there is room for.

    Returns:
        How many there are, -1 where the engine does not answer.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client = begin_call(engine)
    count = find_contacts(engine, client) if client else -1
    if count > len(rows) // ROW_SIZE:
        return count
    for k in range(count):
        at = engine.contact_points + 8 * POINT_WORDS * k
        copy_point(at, rows, ROW_SIZE * k)
    return count
