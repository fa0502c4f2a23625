"""What README and pages state: each with what shows it, and every command as it is typed there."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

import gltf_bullet as gb
from gltf_bullet.cli import app
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # a fixture
from tests.tools.test_documentation import PAGES, REFERENCE, ROOT, blocks

README = ROOT / "README.md"
STATEMENTS: dict[tuple[str, str], str] = {
    ("README.md", "A replay is identical to the bit in worlds with"):
        "tests/runtime/test_snapshots.py",
    ("README.md", "`scene.step()` steps them all, and so does `gb.step_world(client)`"):
        "tests/runtime/test_world_step.py::test_two_arms_are_held_by_the_step_of_either",
    ("README.md", "(`scene.issues` says so, and of how many steps)"):
        "tests/runtime/test_skipped_steps.py::test_a_plain_loop_is_named_with_its_steps",
    ("README.md", "`scene.set_drive_targets({\"Shoulder\": 0.4})` takes joints by name"):
        "tests/runtime/test_drive_targets.py",
    ("README.md", "all writers make the folders above"):
        "tests/test_output_files.py::test_every_writer_makes_the_folders_above_its_file",
    ("README.md", "OMI's default is 1 kg"):
        "tests/spec/test_omi_physics_body.py::test_mass_is_1_by_default",
    ("README.md", "the same file with the rollout as an animation"):
        "tests/tools/test_statements.py::test_the_recording_of_the_readme_moves",
    ("README.md", "Exit codes: 0 clean, 1 the content"):
        "tests/cli/test_messages.py::test_a_missing_file_is_no_such_file",
    ("pictures.md", "tell how large things are"): "tests/browser/test_colors.py",
    ("pictures.md", "are the file's within"): "tests/rendering/test_web_colors.py",
    ("pictures.md", "`recording.export_film"): "tests/runtime/test_films.py",
    ("training.md", "`env.unwrapped.observation_names` says what each number is"):
        "tests/envs/test_gltf_env.py",
    ("training.md", "one picture of all copies"):
        "tests/envs/test_vector_env.py::test_one_picture_has_a_tile_for_each_copy",
    ("training.md", "return 34.6 to 200 of 200"):
        "tests/examples/test_training.py::test_the_cart_learns_to_balance_its_pole",
    ("training.md", "return 23.7 to 200 of 200"):
        "tests/examples/test_training.py::test_a_task_that_lives_in_its_file_is_learned",
    ("training.md", "return -240 to 153 of 240"):
        "tests/examples/test_training.py::test_the_rod_learns_to_swing_up",
    ("limits.md", "| percent-encoded data |"): "tests/trust/test_bounds.py",
    ("limits.md", "a cart-pole in 0.7 ms"): "tests/runtime/test_recent.py",
    ("authoring.md", "gb.load_gltf"):
        "tests/tools/test_documentation.py::test_the_file_written_by_hand_does_what_its_page_says",
}  # fmt: skip
"""Page and words of it -> the tests that hold it."""

COMMANDS = sorted(
    {
        (page.name, line)
        for page in PAGES
        for block in blocks(page, "sh")
        for line in re.findall(r"gltf-bullet [^\n&|]+", block)
    }
)


@pytest.mark.parametrize(("page", "words"), STATEMENTS)
def test_a_statement_has_what_shows_it(page: str, words: str) -> None:
    text = (README if page == README.name else REFERENCE / page).read_text(encoding="utf-8")
    assert " ".join(words.split()) in " ".join(text.split())
    file, _, name = STATEMENTS[page, words].partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert name in tests if name else any(test.startswith("test_") for test in tests)


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda value: str(value)[:60])
def test_a_command_has_the_options_that_a_page_gives_it(page: str, line: str) -> None:
    _require_options(shlex.split(line, comments=True)[1:])


def test_options_within_sentences_are_there() -> None:
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for span in re.findall(r"`gltf-bullet ([a-z][^`]*)`", text):
            words = [word for word in span.replace("\\|", "|").split() if word.isascii()]
            if words[0] == "bench":  # what has left the package is named by the page of changes
                continue
            _require_options([word.strip("[]") for word in words])


def _require_options(words: list[str]) -> None:
    group: Any = typer.main.get_command(app)
    command = group.commands[words[0]]
    options = {name for parameter in command.params for name in parameter.opts} | {"--help"}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_first_command_of_the_readme_writes_its_picture(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = blocks(README, "sh")[0]
    words = shlex.split(first.split("gltf-bullet ")[-1])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert run(*words).code == 0
    assert (tmp_path / "out" / "last.png").stat().st_size > 10_000


def test_the_recording_of_the_readme_moves(tmp_path: Path) -> None:
    [snippet] = [block for block in blocks(README, "python") if "gb.record(scene)" in block]
    program = "import os, pybullet, gltf_bullet as gb\npybullet.connect(pybullet.DIRECT)\n"
    program += "pybullet.setGravity(0, 0, -9.81)\n" + snippet
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=120)
    (animation,) = gb.read_asset(tmp_path / "rollout.glb").animations
    assert animation.duration == pytest.approx(2.0)
    assert animation.tracks
