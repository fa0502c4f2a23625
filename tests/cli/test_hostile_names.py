"""Names of files are printed so that no terminal obeys them, in whatever encoding there is."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ASSETS, Run

HOSTILE = "\x1b]0;OWNED\x07\x1b[2J\x1b[31m\x9b31m\u202e\r\nfake: line\x08"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A file whose every name is hostile, one that is refused as well, and one of such a name."""
    root: dict[str, Any] = json.loads((ASSETS / "hinge_door.gltf").read_text())
    for kind in ("nodes", "meshes", "materials", "animations", "cameras", "scenes"):
        for entry in root.get(kind, []):
            entry["name"] = entry.get("name", "") + HOSTILE
    root["extensionsUsed"].append("EXT_" + HOSTILE)
    root["asset"]["generator"] = HOSTILE
    root["nodes"][0].setdefault("extensions", {}).setdefault("KHR_physics_rigid_bodies", {})[
        "motion"
    ] = {"mass": 2.0, "mass" + HOSTILE: 1.0}
    good, bad, named = tmp_path / "good.gltf", tmp_path / "bad.gltf", tmp_path / "\x1b[31m\nx.gltf"
    good.write_text(json.dumps(root))
    named.write_text(json.dumps(root))
    root["nodes"][0]["children"] = [HOSTILE]
    bad.write_text(json.dumps(root))
    return [good, bad, named]


@pytest.mark.parametrize(
    "command",
    [
        ("check", "{}"),
        ("check", "{}", "--json"),
        ("check", "{}", "--sarif"),
        ("inspect", "{}"),
        ("inspect", "{}", "--json"),
        ("simulate", "{}", "--seconds", "0.05"),
        ("simulate", "{}", "--seconds", "0.05", "--json"),
        ("convert", "{}", "{out}", "--force"),
        ("bake", "{}", "{out}", "--seconds", "0.05", "--force"),
        ("check", "{}", "--density", "-1"),
        ("convert", "{}", "{}.txt"),
    ],
)
def test_nothing_printed_is_obeyed(
    run: Run, files: list[Path], tmp_path: Path, command: tuple[str, ...]
) -> None:
    for file in files:
        outcome = run(*(part.format(file, out=tmp_path / "out.glb") for part in command))
        for text in (outcome.out, outcome.err):
            assert not OBEYED.search(text), ascii(text)
            assert not [line for line in text.splitlines() if line.startswith("fake")]


def test_json_holds_names_exactly(run: Run, files: list[Path]) -> None:
    nodes = json.loads(run("inspect", files[0], "--json").out)["nodes"]
    assert all(row["name"].endswith(HOSTILE) for row in nodes)


def test_cells_are_no_formulas(run: Run, tmp_path: Path) -> None:
    root = json.loads((ASSETS / "falling_box.gltf").read_text())
    for k, node in enumerate(root["nodes"]):
        node["name"] = "=+-@"[k % 4] + 'cmd|"/c calc"!A0\x1b\n'
    (tmp_path / "box.gltf").write_text(json.dumps(root))
    table = tmp_path / "out.csv"
    assert run("simulate", tmp_path / "box.gltf", "--seconds", "0.05", "--csv", table).code == 0
    with table.open(newline="") as stream:
        rows = list(csv.reader(stream))
    column = rows[0].index("name")
    names = {row[column] for row in rows[1:]}
    assert names
    assert all(re.match(r"'[=+\-@]", name) and name.isprintable() for name in names)


COMMANDS = (
    ("inspect", "{}"), ("inspect", "{}", "--json"), ("check", "{}"),
    ("simulate", "{}", "--seconds", "0.05"),
)  # fmt: skip
RUN_ALL = """
import json, sys
from gltf_bullet.cli import main

for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)
"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_any_encoding_of_the_output_will_do(tmp_path: Path, encoding: str) -> None:
    root = json.loads((ASSETS / "falling_box.gltf").read_text())
    for node in root["nodes"]:
        node["name"] = "箱 → Ω"
    (tmp_path / "box.gltf").write_text(json.dumps(root))
    commands = [[part.format(tmp_path / "box.gltf") for part in command] for command in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, json.dumps(commands)],
        capture_output=True, timeout=120, check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    done.stdout.decode(encoding)
