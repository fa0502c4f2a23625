"""The rooms import only from rooms before them, and only the engine rooms touch PyBullet."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "gltf_bullet"

ROOMS_BEFORE: dict[str, set[str]] = {
    "errors": {"diagnostics"},
    "diagnostics": {"errors"},
    "transforms": set(),
    "options": set(),
    "suggestions": set(),
    "version": set(),
}
ROOMS_BEFORE["reference"] = set()
_BASE = {"errors", "diagnostics", "transforms", "options", "suggestions", "version"}
ROOMS_BEFORE["scene"] = _BASE
ROOMS_BEFORE["gltf"] = _BASE | {"scene"}
ROOMS_BEFORE["model"] = _BASE | {"scene"}
ROOMS_BEFORE["dialects"] = _BASE | {"scene", "gltf", "model"}
ROOMS_BEFORE["bullet"] = _BASE | {"scene", "model"}
ROOMS_BEFORE["runtime"] = _BASE | {"scene", "gltf", "model", "dialects", "bullet"}
_ALL_BELOW = ROOMS_BEFORE["runtime"] | {"runtime"}
ROOMS_BEFORE["envs"] = _ALL_BELOW
ROOMS_BEFORE["viewer"] = _ALL_BELOW
ROOMS_BEFORE["cli"] = _ALL_BELOW | {"viewer", "envs", "reference"}
ROOMS_BEFORE["__main__"] = {"cli"}

MAY_IMPORT = {
    "pybullet": {"bullet", "viewer"},
    "pybullet_utils": {"bullet", "viewer"},
    "gymnasium": {"envs", "cli"},
    "ray": {"envs"},
    "matplotlib": {"envs"},
    "lazy_loader": set(),
    "typer": {"cli"},
    "rich": {"cli"},
    "coacd": {"bullet"},
    "DracoPy": {"gltf"},
}
"""Heavy modules and the rooms that may know them."""

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, also inside functions, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield node.module, node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_before_its_own(path: Path) -> None:
    room = room_of(path)
    assert room in ROOMS_BEFORE, f"room {room!r} is not in the house (STYLE 5.1)"
    for name, line in imported(path):
        first, _, rest = name.partition(".")
        if first == "gltf_bullet" and rest:
            other = rest.split(".")[0]
            assert other == room or other in ROOMS_BEFORE[room], (
                f"{path}:{line}: {room} must not import {other}"
            )
        if first in MAY_IMPORT:
            assert room in MAY_IMPORT[first], f"{path}:{line}: {room} must not import {first}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_fits_into_one_head(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not lines or lines[0].startswith('"""'), "no module docstring"
    assert len(lines) < 500, f"{len(lines)} lines: which concept is hiding?"


def test_there_are_no_rooms_without_a_name() -> None:
    forbidden = {"utils", "helpers", "common", "base", "manager"}
    assert not [path for path in MODULES if path.stem in forbidden]


@pytest.mark.parametrize(
    "module",
    [
        "gltf_bullet",
        "gltf_bullet.model",
        "gltf_bullet.gltf.document",
        "gltf_bullet.dialects.assemble",
        "gltf_bullet.dialects.khr_writer",
        "gltf_bullet.bullet.bodies",
        "gltf_bullet.bullet.shapes",
        "gltf_bullet.bullet.articulations_planning",
        "gltf_bullet.bullet.world_plan",
        "gltf_bullet.runtime.inspection",
        "gltf_bullet.viewer.layers",
        "gltf_bullet.cli",
    ],
)
def test_reading_and_planning_work_without_the_engine(module: str) -> None:
    program = (
        f"import sys, {module}\n"
        "heavy = {'pybullet', 'PIL', 'pygltflib', 'coacd'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = ast.literal_eval(result.stdout.strip())
    assert "pybullet" not in heavy
    if module in ("gltf_bullet", "gltf_bullet.cli"):
        assert heavy == []
