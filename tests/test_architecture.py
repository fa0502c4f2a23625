"""The house keeps its plan: rooms, sizes, and what may be imported where."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "gltf_bullet"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
FOLDERS = sorted({path.parent for path in MODULES})

MOST_FILES = 30

MAY_IMPORT = {
    "gymnasium": {"envs", "cli"},
    "ray": {"envs"},
    "matplotlib": {"envs"},
    "lazy_loader": {"viewer"},
    "typer": {"cli"},
    "rich": {"cli"},
    "coacd": {"planning"},
    "DracoPy": {"gltf"},
    "meshopt": {"gltf"},
}
"""Heavy modules and the rooms that may know them; PyBullet and Numba have contracts."""


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, also inside functions, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield node.module, node.lineno


def test_the_rooms_import_one_way_and_in_no_circle() -> None:
    """The contracts of import-linter in ``pyproject.toml``; imports for type checking count."""
    lint = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    result = subprocess.run(lint, capture_output=True, text=True, cwd=PACKAGE.parent)
    assert result.returncode == 0, result.stdout


def test_heavy_modules_are_known_to_few_rooms() -> None:
    strangers = []
    for path in MODULES:
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for name, line in imported(path):
            first = name.partition(".")[0]
            if first in MAY_IMPORT and room not in MAY_IMPORT[first]:
                strangers.append(f"{path}:{line}: {room} must not import {first}")
    assert not strangers, "\n".join(strangers)


def test_a_folder_is_seen_at_a_glance() -> None:
    counts = {
        folder: sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder in FOLDERS
    }
    assert not {folder: count for folder, count in counts.items() if count > MOST_FILES}


def test_a_module_says_what_it_is() -> None:
    odd = []
    for path in MODULES:
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines and not lines[0].startswith('"""'):
            odd.append(f"{path}: no module docstring")
    assert not odd, "\n".join(odd)


def test_there_are_no_rooms_without_a_name() -> None:
    forbidden = {"utils", "helpers", "common", "base", "manager"}
    assert not [path for path in MODULES if path.stem in forbidden]


FREE_OF_THE_ENGINE = (
    "gltf_bullet",
    "gltf_bullet.model",
    "gltf_bullet.gltf.document",
    "gltf_bullet.dialects.assemble",
    "gltf_bullet.dialects.khr.writer",
    "gltf_bullet.planning.bodies",
    "gltf_bullet.planning.shapes.planner",
    "gltf_bullet.planning.joints.articulations",
    "gltf_bullet.planning.scene_plan",
    "gltf_bullet.runtime.inspect.inspection",
    "gltf_bullet.viewer.layers",
    "gltf_bullet.cli",
)
IMPORTED_ALONE = """
import importlib, os, sys, numpy
for module in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        importlib.import_module(module)
        heavy = {"pybullet", "PIL", "pygltflib", "coacd"} & set(sys.modules)
        print(f"{module!r}: {sorted(heavy)},", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
"""Each module in a child of its own, which has NumPy alone: it takes half of the time."""


def test_reading_and_planning_work_without_the_engine() -> None:
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED_ALONE, *FREE_OF_THE_ENGINE],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy: dict[str, list[str]] = ast.literal_eval(f"{{{result.stdout}}}")
    assert set(heavy) == set(FREE_OF_THE_ENGINE), result.stderr
    assert not [module for module, found in heavy.items() if "pybullet" in found]
    assert heavy["gltf_bullet"] == heavy["gltf_bullet.cli"] == []


def test_a_scene_without_meshes_loads_and_steps_without_mesh_libraries() -> None:
    # Each costs a tenth of a second in every new process.
    program = (
        "import sys, pybullet, gltf_bullet as gb\n"
        "from tools.bench.assets import cart_pole_gltf\n"
        "gb.load_gltf(cart_pole_gltf(), pybullet.connect(pybullet.DIRECT)).step()\n"
        "heavy = {'PIL', 'coacd', 'pygltflib', 'scipy.spatial', 'trimesh'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parent,
    )
    assert ast.literal_eval(result.stdout.splitlines()[-1]) == []
