"""What every command shares: load options, tables, waits, and outputs that fail one by one."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gltf_bullet.cli.loading import LOADING, load_values
from gltf_bullet.cli.waiting import PATIENCE, waiting
from gltf_bullet.options import LoadOptions
from tests.cli.conftest import ASSETS, Run
from tests.physics.scenes import G, Scenery

SHARED = Path(__file__).resolve().parents[3] / "shared" / "assets"


def test_the_options_of_a_load_have_their_defaults() -> None:
    defaults = {name: default for name, (_, default) in LOADING.items()}
    assert LoadOptions(**load_values(defaults)) == LoadOptions(), "an option of the prompt differs"


@pytest.mark.parametrize("command", ["inspect", "check", "simulate", "view", "bake"])
def test_every_command_that_loads_has_all_load_options(run: Run, command: str) -> None:
    text = run(command, "--help").out
    for name in LOADING:
        assert f"--{name.replace('_', '-')}" in text


def test_the_density_reaches_the_load(run: Run, tmp_path: Path) -> None:
    scenery = Scenery()
    scenery.node("Cube", shape=scenery.shape("box", size=[2, 1, 1]), motion={})
    path = tmp_path / "cube.gltf"
    path.write_bytes(scenery.bytes())
    found = json.loads(run("inspect", path, "--density", "300", "--json").out)
    assert found["bodies"][0]["mass"] == pytest.approx(300 * 2)


@pytest.mark.parametrize(("up", "axis"), [("z", 2), ("y", 1)])
def test_things_fall_along_the_axis_that_is_up(
    run: Run, tmp_path: Path, up: str, axis: int
) -> None:
    scenery = Scenery()
    scenery.node("Ball", at=(0, 4, 0), shape=scenery.shape("sphere"), motion={"mass": 1})
    path = tmp_path / "ball.gltf"
    path.write_bytes(scenery.bytes())
    outcome = run("simulate", path, "--seconds", "0.5", "--up-axis", up, "--json")
    position = np.array(json.loads(outcome.out)["bodies"][0]["position"])
    fallen = 4 - 0.5 * G * 0.5 * (0.5 + 1 / 240)
    assert position == pytest.approx(fallen * np.eye(3)[axis], abs=1e-3)


def test_tables_are_as_wide_as_columns_says(
    run: Run, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = {}
    for columns in ("", "80", "140"):
        monkeypatch.setenv("COLUMNS", columns)
        lines = run("simulate", assets / "vehicle.gltf", "--seconds", "0").out.splitlines()
        assert all(line == line.rstrip() for line in lines)
        widths[columns] = max(map(len, lines))
    assert widths[""] == widths["80"] <= 80 < widths["140"] <= 140


def test_repeated_joint_names_are_told_apart_in_the_plot(run: Run, tmp_path: Path) -> None:
    """Two joints of one name: one line of the plot would get the rows of both."""
    document = json.loads((ASSETS / "vehicle.gltf").read_text())
    for node in document["nodes"]:
        if "joint" in node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}):
            node["name"] = "Joint"
    path, plot, png = tmp_path / "in.gltf", tmp_path / "plot.png", tmp_path / "last.png"
    path.write_text(json.dumps(document))
    outcome = run(
        "simulate", path, "--seconds", "0.2", "--plot", plot, "--png", png, "--size", "64x48"
    )
    assert outcome.code == 0, outcome.err
    assert plot.is_file()
    assert png.is_file()


def test_an_output_that_fails_does_not_take_the_others_along(
    run: Run, assets: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "plot.png"
    folder.mkdir()
    table, png, gif = tmp_path / "a.csv", tmp_path / "a.png", tmp_path / "a.gif"
    outcome = run(
        "simulate", assets / "falling_box.gltf", "--seconds", "0.2", "--plot", folder,
        "--csv", table, "--png", png, "--gif", gif, "--size", "64x48",
    )  # fmt: skip
    assert outcome.code == 2
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("error")]
    assert "--plot" in line
    assert "plot.png" in line
    assert table.read_text().count("\n") == 1 + 1 + 12
    assert Image.open(png).size == Image.open(gif).size == (64, 48)
    assert "Crate" in outcome.out


def test_bake_says_what_is_approximated_and_when_nothing_moves(
    run: Run, assets: Path, tmp_path: Path
) -> None:
    zoo = run("bake", assets / "shape_zoo.gltf", tmp_path / "zoo.glb", "--seconds", "0.1")
    assert "ROUND_SHAPE_APPROXIMATED" in zoo.out
    assert "Nothing" not in zoo.out
    scenery = Scenery()
    scenery.node("Wall", shape=scenery.shape("box", size=[1, 1, 1]))
    still = tmp_path / "still.gltf"
    still.write_bytes(scenery.bytes())
    outcome = run("bake", still, tmp_path / "out.glb", "--seconds", "0.1")
    assert outcome.code == 0
    assert "Nothing in it moves" in outcome.out


def test_an_engine_that_fails_is_no_content_error(
    run: Run, assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert run("view", assets / "falling_box.gltf").code == 2
    strict = run("simulate", assets / "shape_zoo.gltf", "--strict", "--seconds", "0")
    assert strict.code == 1
    assert "ROUND_SHAPE_APPROXIMATED" in strict.err
    assert run("check", tmp_path / "missing.glb").code == 2


def test_a_long_wait_is_said_once_where_nobody_looks_at_a_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with waiting("loading") as show:
        show("loading", 0.5)
    assert capsys.readouterr().err == ""
    with waiting("loading") as show:
        time.sleep(1.3 * PATIENCE)
        for _ in range(3):
            show("decomposing a concave mesh", 0.5)
    assert capsys.readouterr().err == "Loading ...\nDecomposing a concave mesh ...\n"


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the asset collection is not here")
@pytest.mark.parametrize("number", range(8))
def test_every_command_ends_well_on_files_of_others(run: Run, tmp_path: Path, number: int) -> None:
    """A sample: each eighth file, begun at another one by each case."""
    files = sorted(p for p in SHARED.rglob("*") if p.suffix in (".gltf", ".glb"))
    assert len(files) > 40
    for file in files[number::24]:
        plot, png, gif = (tmp_path / f"{file.stem}{end}" for end in (".plot.png", ".png", ".gif"))
        outputs = ("--plot", plot, "--png", png, "--gif", gif, "--size", "64x48")
        codes = [
            run("inspect", file).code,
            run("check", file).code,
            run("bake", file, tmp_path / "baked.glb", "--seconds", "0.1").code,
            run("simulate", file, "--seconds", "0.1", "--film-fps", "10", *outputs).code,
        ]
        assert set(codes) in ({0}, {1}), file
        if codes[0] == 0:
            assert all(path.stat().st_size > 100 for path in (plot, png, gif)), file
    assert "gltf_bullet" in sys.modules
