"""What ``view`` does with a file and with time, without a window."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pybullet
import pytest

from gltf_bullet.errors import EngineError
from gltf_bullet.model import DofKind, DriveMode, JointDrive, JointLimit
from gltf_bullet.viewer.commands import Commands
from gltf_bullet.viewer.keys import KEYS, LAYERS, key_lines
from gltf_bullet.viewer.playback import LONGEST_CATCH_UP, drive_slider
from gltf_bullet.viewer.session import Session, ViewOptions
from tools.gltf_builder import GltfBuilder

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
STEP = 1.0 / 240.0


@pytest.fixture
def door(tmp_path: Path) -> Path:
    return Path(shutil.copy(ASSETS / "hinge_door.gltf", tmp_path / "door.gltf"))


class Clock:
    """Stands still but for what a test says, and a cost per look."""

    def __init__(self, cost: float = 0.0) -> None:
        self.now, self.cost = 0.0, cost

    def __call__(self) -> float:
        self.now += self.cost
        return self.now


# --- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.25, 1.0, 3.0])
def test_simulated_time_follows_the_clock_and_the_speed(client: int, speed: float) -> None:
    session = Session(ASSETS / "falling_box.gltf", client, ViewOptions(speed=speed), clock=Clock())
    assert session.scene is not None
    for _ in range(100):
        session.advance(0.01)
    # Whole steps only; what is left over is owed, never lost.
    assert session.scene.time == pytest.approx(speed, abs=STEP)
    assert not session.is_behind


def test_a_slow_machine_is_not_made_to_catch_up_for_ever(client: int) -> None:
    cost = 0.02  # [s] of wall time per step: five times slower than real time
    session = Session(ASSETS / "falling_box.gltf", client, clock=Clock(cost))
    taken = session.advance(10.0)
    assert taken <= math.ceil(LONGEST_CATCH_UP / cost)
    assert session.is_behind
    assert "too slow" in session.status()
    # The rest is forgotten: the next call takes only what is due for itself.
    assert session.advance(STEP * 1.01) == 1
    assert not session.is_behind


def test_pause_step_and_reset(client: int) -> None:
    session = Session(ASSETS / "falling_box.gltf", client, ViewOptions(play=False), clock=Clock())
    assert session.scene is not None
    assert session.advance(1.0) == 0
    start = session.scene.world_from_node("Crate")
    session.playing = True
    session.step_once()
    assert not session.playing
    assert session.scene.time == pytest.approx(STEP)
    session.step_once()
    assert session.scene.time == pytest.approx(2 * STEP)
    session.reset()
    assert session.scene.time == 0.0
    assert (session.scene.world_from_node("Crate") == start).all()
    assert "paused" in session.status()


# --- drives -----------------------------------------------------------------------------------


def drive(
    kind: DofKind, *, stiffness: float, target: float = 0.0, speed: float = 0.0
) -> JointDrive:
    return JointDrive(
        kind=kind,
        axis=1,
        mode=DriveMode.FORCE,
        stiffness=stiffness,
        damping=1.0,
        position_target=target,
        velocity_target=speed,
    )


def test_a_slider_spans_the_limits_of_its_axis() -> None:
    limits = (
        JointLimit(kind=DofKind.ANGULAR, axes=(1,), minimum=-0.5, maximum=2.0),
        JointLimit(kind=DofKind.ANGULAR, axes=(0,), minimum=-9.0, maximum=9.0),
        JointLimit(kind=DofKind.LINEAR, axes=(1,), minimum=-8.0, maximum=8.0),
    )
    slider = drive_slider("Hinge", drive(DofKind.ANGULAR, stiffness=5.0, target=0.3), limits)
    assert (slider.low, slider.high, slider.start, slider.is_speed) == (-0.5, 2.0, 0.3, False)
    assert slider.label == "Hinge turn y [rad]"


def test_a_slider_without_limits_holds_its_target() -> None:
    free = drive_slider("Arm", drive(DofKind.ANGULAR, stiffness=5.0, target=7.0), ())
    assert free.low == -math.pi
    assert free.high >= 7.0
    beyond = JointLimit(kind=DofKind.LINEAR, axes=(1,), minimum=0.0, maximum=1.0)
    slider = drive_slider("Rail", drive(DofKind.LINEAR, stiffness=5.0, target=1.5), (beyond,))
    assert (slider.low, slider.high) == (0.0, 1.5)


def test_a_drive_without_stiffness_has_a_slider_of_speed() -> None:
    slider = drive_slider("Wheel", drive(DofKind.ANGULAR, stiffness=0.0, speed=-30.0), ())
    assert (slider.low, slider.high, slider.start, slider.is_speed) == (-60.0, 60.0, -30.0, True)
    assert slider.label == "Wheel turn y [rad/s]"


def test_a_slider_moves_its_joint_and_survives_a_reset(client: int, door: Path) -> None:
    session = Session(door, client, clock=Clock())
    assert session.scene is not None
    joint = session.scene.joints["HingeOnDoor"].degrees_of_freedom[0]
    session.advance(0.1)
    session.set_drive(0, 1.0)
    for _ in range(80):
        session.advance(0.1)
    # Without gravity about a vertical hinge the spring ends at its target.
    assert joint.position == pytest.approx(1.0, abs=0.01)
    session.reset()
    assert joint.position == pytest.approx(0.0, abs=0.01)
    assert session.scene.joint_controls.drive_targets()[0][0] == 1.0


def test_a_speed_slider_sets_the_velocity_target(client: int) -> None:
    session = Session(ASSETS / "slider_motor.gltf", client, clock=Clock())
    assert session.scene is not None
    assert session.drive_sliders()[0].is_speed
    session.set_drive(0, 0.1)
    positions, velocities = session.scene.joint_controls.drive_targets()
    assert (positions[0], velocities[0]) == (0.0, 0.1)


# --- the file ---------------------------------------------------------------------------------


def test_a_broken_edit_leaves_the_old_scene(client: int, door: Path) -> None:
    session = Session(door, client, clock=Clock())
    scene = session.scene
    bodies = pybullet.getNumBodies(physicsClientId=client)
    good = door.read_text()
    door.write_text(good[:100])
    assert not session.reload_if_changed()  # first noticed ...
    assert session.reload_if_changed()  # ... then settled
    assert session.problem
    assert "CONTAINER" in session.problem[0] or "JSON" in session.problem[0]
    assert session.scene is scene
    session.advance(0.1)
    assert scene is not None
    assert scene.time > 0.0

    document = json.loads(good)
    document["nodes"][0]["name"] = "Renamed"
    door.write_text(json.dumps(document))
    session.reload_if_changed()
    assert session.reload_if_changed()
    assert session.problem == ()
    assert session.loads == 2
    assert session.scene is not scene
    assert scene.is_removed
    assert session.scene is not None
    assert session.scene.nodes[0].name == "Renamed"
    assert session.scene.time == 0.0
    assert pybullet.getNumBodies(physicsClientId=client) == bodies
    assert not session.reload_if_changed()


def test_a_file_that_comes_later_is_loaded_then(client: int, tmp_path: Path) -> None:
    path = tmp_path / "later.gltf"
    session = Session(path, client, clock=Clock())
    assert session.scene is None
    assert session.problem
    assert "cannot be loaded" in session.status()
    assert session.advance(1.0) == 0
    session.step_once()
    session.reset()
    session.choose_animation(0)
    assert session.drive_sliders() == ()
    shutil.copy(ASSETS / "falling_box.gltf", path)
    session.reload_if_changed()
    assert session.reload_if_changed()
    assert session.loads == 1
    assert session.problem == ()


def test_a_changed_buffer_counts_as_a_change_of_the_file(client: int, tmp_path: Path) -> None:
    builder = GltfBuilder()
    node = builder.node("Moved")
    builder.animation("Up", [(node, "translation", [0.0, 1.0], [[0, 0, 0], [0, 1, 0]])])
    (content,) = builder.buffers()
    document = builder.json()
    document["buffers"][0]["uri"] = "moved.bin"
    (tmp_path / "moved.bin").write_bytes(content)
    path = tmp_path / "moved.gltf"
    path.write_text(json.dumps(document))
    session = Session(path, client, clock=Clock())
    assert (session.problem, session.loads) == ((), 1)
    (tmp_path / "moved.bin").unlink()
    session.reload_if_changed()
    assert session.reload_if_changed()
    assert "moved.bin" in session.problem[0]
    (tmp_path / "moved.bin").write_bytes(content)
    session.reload_if_changed()
    assert session.reload_if_changed()
    assert (session.problem, session.loads) == ((), 2)


def test_a_file_that_fails_while_it_runs_is_paused(client: int) -> None:
    session = Session(ASSETS / "falling_box.gltf", client, clock=Clock())
    assert session.scene is not None

    def fail() -> None:
        raise ValueError("mass is -1; must be > 0")

    end = session.scene.core.on_step(fail)
    assert session.advance(1.0) == 0
    assert not session.playing
    assert "mass is -1" in session.problem[0]
    end()
    session.reset()
    assert session.problem == ()
    session.step_once()
    session.playing = True
    assert session.advance(0.1) > 0
    pybullet.disconnect(client)
    with pytest.raises(EngineError):
        session.advance(0.1)


def test_long_names_leave_room_for_the_unit() -> None:
    slider = drive_slider("A" * 80, drive(DofKind.LINEAR, stiffness=1.0), ())
    assert slider.label == f"{'A' * 16}.. move y [m]"


def test_bodies_are_made_within_what_the_window_asks_for(client: int, door: Path) -> None:
    seen: list[int] = []

    class Paused:
        def __enter__(self) -> None:
            seen.append(pybullet.getNumBodies(physicsClientId=client))

        def __exit__(self, *exception: object) -> None:
            seen.append(pybullet.getNumBodies(physicsClientId=client))

    Session(door, client, loading=Paused)
    assert seen[0] == 0 < seen[1]


# --- keys and the panel -----------------------------------------------------------------------


def commands_of(session: Session) -> tuple[Commands, list[str]]:
    done: list[str] = []
    view = {
        name: (lambda name=name: done.append(name))  # type: ignore[misc]
        for name in ("frame", "x-ray", "help", "issue", *LAYERS)
    }
    return Commands(session, view), done


def test_every_key_does_something(client: int, door: Path) -> None:
    session = Session(door, client, clock=Clock())
    commands, done = commands_of(session)
    assert session.scene is not None
    commands.press_keys([" "])
    assert not session.playing
    commands.press_keys(["."])
    assert session.scene.time == pytest.approx(STEP)
    commands.press_keys(["r"])
    assert session.scene.time == 0.0
    commands.press_keys(["l"])
    assert session.loads == 2
    rest = [key for key in KEYS if key not in " .rl"]
    commands.press_keys([*rest, "q", "7"])
    assert done == [KEYS[key][0] for key in rest]
    assert set(LAYERS) <= set(done)


def test_the_help_names_every_key_once(client: int) -> None:
    text = key_lines()
    for key, (_, meaning) in KEYS.items():
        name = "Space" if key == " " else key
        assert sum(line.split(maxsplit=1) == [name, meaning] for line in text) == 1


def test_the_panel_has_a_slider_per_drive_and_a_button_per_command(client: int) -> None:
    session = Session(ASSETS / "six_axis_arm.gltf", client, ViewOptions(speed=2.0), clock=Clock())
    commands, done = commands_of(session)
    controls = commands.controls()
    sliders = [control for control in controls if not control.is_button]
    assert [s.command for s in sliders] == ["speed", *(f"drive {k}" for k in range(6))]
    assert sliders[0].start == 2.0
    for control in controls:
        if control.is_button:
            commands.do(control.command)
    assert done == list(LAYERS)
    commands.slide("speed", 0.5)
    assert session.speed == 0.5
    commands.slide("drive 3", 0.25)
    assert session.scene is not None
    assert session.scene.joint_controls.drive_targets()[0].tolist() == [0, 0, 0, 0.25, 0, 0]


def test_issues_have_buttons_that_fit(client: int) -> None:
    session = Session(ASSETS / "shape_zoo.gltf", client, clock=Clock())
    commands, done = commands_of(session)
    buttons = [c for c in commands.controls() if c.command.startswith("issue")]
    assert len(buttons) == len(session.issues) > 0
    assert all(len(button.label) <= Commands.LABEL_CHARACTERS for button in buttons)
    commands.do(buttons[0].command)
    assert done == ["issue"]


def test_an_animation_is_chosen_paused_and_resumed(client: int, tmp_path: Path) -> None:
    builder = GltfBuilder()
    nodes = [builder.node(f"N{k}") for k in range(2)]
    for k, node in enumerate(nodes):
        slide = (node, "translation", [0.0, 1.0], [[0, 0, 0], [1, 0, 0]])
        builder.animation(f"Clip{k}", [slide])
    path = tmp_path / "clips.gltf"
    builder.write(path)
    session = Session(path, client, clock=Clock())
    assert session.scene is not None
    first, second = session.scene.animations
    commands, _ = commands_of(session)
    buttons = [c.command for c in commands.controls() if c.command.startswith("animation")]
    assert buttons == ["animation 0", "animation 1"]
    assert "Clip0, Clip1" in session.status()
    session.choose_animation(0)  # both play from load on: this one is paused, the other let go
    assert (first.is_playing, first.is_active, second.is_active) == (False, True, False)
    commands.do("animation 0")
    assert first.is_playing
    commands.do("animation 1")
    assert (first.is_active, second.is_playing) == (False, True)
