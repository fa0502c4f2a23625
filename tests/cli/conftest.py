"""Running the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gltf_bullet.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call it with the arguments of ``gltf-bullet``."""

    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["gltf-bullet", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else int(bool(code)), *output)

    return call


@pytest.fixture
def assets() -> Path:
    """The example assets."""
    return ASSETS


@pytest.fixture
def bad_file(tmp_path: Path) -> Path:
    """A file with an error and what is left out with a warning."""
    path = tmp_path / "bad.gltf"
    path.write_text(
        '{"asset": {"version": "2.0"}, "extensionsUsed": ["KHR_physics_rigid_bodies"],'
        '"nodes": [{"extensions": {"KHR_physics_rigid_bodies": {"motion": {"mass": -2}}}},'
        '{"extensions": {"KHR_physics_rigid_bodies": {"collider": {"geometry": {"shape": 9}}}}}]}'
    )
    return path
