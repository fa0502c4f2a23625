"""The kernel that makes a whole step where nothing needs Python: read, solved, told, stepped."""

from __future__ import annotations

from gltf_bullet.numba_aot import (
    IntTable,
    call,
    cells,
    entry,
    floats_at,
    ints_at,
    kernel,
    place_of,
    record,
    record_reader,
    size_of,
)
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.calls import (
    BODY_SIZE,
    POINT_WORDS,
    Engine,
    body_at,
    byte_at,
    copy_point,
    engine_at,
    engine_client,
    find_contacts,
    is_as_known,
    last_body,
    last_constraint,
    make_step,
    plan_at,
    read_settings,
    read_state,
    user_data,
)
from gltf_bullet.solver.engine.sensing import sense
from gltf_bullet.solver.engine.telling import tell
from gltf_bullet.solver.engine.touching import contact_table_at, recognise, touches
from gltf_bullet.solver.island_layout import SCENE
from gltf_bullet.solver.outcomes import (
    CLOSED,
    DIVIDES,
    LOST,
    REFUSED,
    SENSED,
    STEPPED,
    TOUCHES,
    UNTOLD,
)  # fmt: skip
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["advance", "copy_contacts"]

ASK = 1
"""Make sure that the world is as known: its settings, and the marks of the scenes' bodies."""
READ = 2
"""Take the state of all joints."""
LOOK = 4
"""See who touches something."""
STATE = 8
"""State the rows of all articulations, once a step."""
SOLVE = 16
"""Solve them."""
TELL = 32
"""Give the engine what was found, where nothing is the matter with it."""
STEP = 64
"""Make the engine's step, where everything was told."""
LEARN = 128
"""Take the world's settings for known ones; nothing else."""
CLOSE = 512
"""Close what the step that was made has opened; with READ only."""

DIVIDE = 4096
"""With READ: go no further where the step needs several engine steps, and say DIVIDES."""
EACH = 2048
"""With STEP: close nothing and let no trigger watch, but let each scene do so itself."""
FORCES = READ | LOOK | STATE | SOLVE | TELL
"""Everything but the engine's step."""
WHOLE_STEP = ASK | FORCES | DIVIDE | STEP
AT_ONCE = 50
"""Steps that are made before Python can hear Ctrl-C."""

_STAGES_OF_SOLVE = layout.OPEN | layout.GATHER | layout.SOLVE | layout.RELIEVE | layout.FINISH

# --- whose bodies these are -----------------------------------------------------------------------


@record
class Ownership:
    """What tells a scene's bodies from others with the same ids; a :class:`Tag` of each follows."""

    bodies: int
    """Count of the bodies in the world, times 2^32, plus the id of the last one."""
    next_tag: int
    """Number of the tag that is checked next."""
    tag_count: int
    constraints: int
    """The same as ``bodies`` of the constraints in the world."""


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
def _holds(engine: Engine, client: int, tags: IntArray) -> bool:
    """Whether the bodies are still those that were tagged; each call checks one tag more."""
    if len(tags) == 0:
        return False
    ownership = ownership_at(tags, 0)
    if ownership.tag_count == 0 or ownership.bodies != last_body(engine, client):
        return False
    if ownership.constraints != last_constraint(engine, client):
        return False
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
def _look(
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
        if not touches(engine, ints_at(scenes, row, SCENE.plan)):
            continue
        known = recognise(
            engine, client,
            ints_at(scenes, row, SCENE.touch),
            floats_at(scenes, row, SCENE.touch_values),
            ints_at(scenes, row, SCENE.island_ints),
            floats_at(scenes, row, SCENE.island_floats),
            dt, gx, gy, gz,
        )  # fmt: skip
        scenes[row, SCENE.touching] = known
        if known < 0:
            found = TOUCHES
    return found


@kernel
def _address_of_row(scenes: IntTable, row: int) -> int:
    """A table of one row; its width is that of the table."""
    return int(scenes.ctypes.data + 8 * scenes.shape[1] * row)


@kernel
def _free_bodies(scenes: IntTable, row: int) -> int:
    """How many take part in what a scene touches."""
    if scenes[row, SCENE.touching] == 0:
        return 0
    return contact_table_at(ints_at(scenes, row, SCENE.touch), 0).free_count


@kernel
def _close(scenes: IntTable, engine: Engine, dt: float) -> int:
    """Close what a step that was made has opened."""
    width = scenes.shape[1]
    close = (scenes.ctypes.data, len(scenes), width, layout.CLOSE, 0, 0, dt, 0.0, 0.0, 0.0)
    return int(call(engine.prepare, close))


@kernel
def _have_loops(scenes: IntTable) -> bool:
    for row in range(len(scenes)):  # kernels know no generators
        if plan_at(ints_at(scenes, row, SCENE.plan), 0).loop_count:
            return True
    return False


@kernel
def _sense(scenes: IntTable, engine: Engine, client: int, dt: float) -> bool:
    """Whether the triggers of all scenes have watched the step."""
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
def _learn(scenes: IntTable, engine: Engine, client: int) -> int:
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
def _go_through(
    scenes: IntTable,
    engine: Engine,
    client: int,
    stages: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """The stages of one step."""
    if stages & ASK:
        # Marks first of all: another client in this place may be of another kind.
        for row in range(len(scenes)):
            if not _holds(engine, client, ints_at(scenes, row, SCENE.ownership)):
                return REFUSED
        if not is_as_known(engine, client):
            return REFUSED
    if stages & READ:
        found = _read(scenes, engine, client)
        if found:
            return found
    if stages & DIVIDE:
        needed = call(
            engine.prepare,
            (
                scenes.ctypes.data, len(scenes), scenes.shape[1], layout.DIVIDE, 0, 0,
                dt, gx, gy, gz,
            ),
        )  # fmt: skip
        if needed > 1:
            scenes[0, SCENE.parts] = needed
            return DIVIDES
    if stages & LOOK:
        found = _look(scenes, engine, client, dt, gx, gy, gz)
        if found:
            return found
    found, width = 0, scenes.shape[1]
    if stages & STATE:
        for row in range(len(scenes)):
            one, contacts = _address_of_row(scenes, row), scenes[row, SCENE.touching]
            stated = (one, 1, width, layout.PREPARE, 0, contacts, dt, gx, gy, gz)
            call(engine.prepare, stated)
    if stages & SOLVE:
        for row in range(len(scenes)):
            one, contacts = _address_of_row(scenes, row), scenes[row, SCENE.touching]
            free = _free_bodies(scenes, row)
            solved = (one, 1, width, _STAGES_OF_SOLVE, 0, contacts, free, dt)
            status = call(engine.solve, solved)
            scenes[row, SCENE.status] = status
            found |= status
        if found:
            return found | UNTOLD
    if stages & TELL:
        for row in range(len(scenes)):
            tell(
                engine,
                client,
                ints_at(scenes, row, SCENE.plan),
                floats_at(scenes, row, SCENE.floats),
                floats_at(scenes, row, SCENE.work),
            )
    if stages & STEP:
        if not make_step(engine, client):
            return found | REFUSED
        found |= STEPPED
        if stages & EACH:
            return found
        if _have_loops(scenes):
            lost = _read(scenes, engine, client)
            if lost:
                return found | (lost & LOST)
            stages |= CLOSE
    closed = 0
    if stages & CLOSE:
        closed = _close(scenes, engine, dt)
        found |= CLOSED | closed
    if stages & STEP and not closed and _sense(scenes, engine, client, dt):
        found |= SENSED
    return found


@kernel
def _is_quiet(scenes: IntTable, found: int) -> bool:
    """Whether nobody has to know of a step before the next one."""
    if found & ~(STEPPED | CLOSED | SENSED) or not found & STEPPED:
        return False
    for row in range(len(scenes)):  # noqa: SIM110  # kernels know no generators
        if found & SENSED and scenes[row, SCENE.pairs] != 0:
            return False
    return True


@entry
def advance(scenes: IntTable, stages: int, dt: float, gx: float, gy: float, gz: float) -> int:
    """Go through some stages of a step of scenes of one world.

    Args:
        scenes: Their arrays, a row each: see ``island_layout.row_of``; receives what became of
            each, as is returned.
        stages: Which ones. STEP makes as many steps as STEPS in the first row says, as long as
            nothing happens; it receives how many were begun, what is returned is of the last one.
        dt: [s]
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        What became of the last of them: see ``outcomes``.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client = engine_client(engine)
    if client == 0:
        return REFUSED
    if stages & LEARN:
        return _learn(scenes, engine, client)
    steps, made, last, wanted = scenes[0, SCENE.steps], 0, 0, stages & ~ASK
    while made == 0 or (made < steps and _is_quiet(scenes, last)):
        found = _go_through(scenes, engine, client, stages, dt, gx, gy, gz)
        if made > 0 and found & (REFUSED | TOUCHES | DIVIDES) and not found & LOST:
            break  # a step that Python shall make
        made, last = made + 1, found
        # Triggers have read the joints already.
        stages = wanted & ~READ if found & SENSED else wanted
    scenes[0, SCENE.steps] = made
    return last


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
    client = engine_client(engine)
    count = find_contacts(engine, client) if client else -1
    if count > len(rows) // ROW_SIZE:
        return count
    for k in range(count):
        at = engine.contact_points + 8 * POINT_WORDS * k
        copy_point(at, rows, ROW_SIZE * k)
    return count
