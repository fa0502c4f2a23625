"""Libraries that come with the package: which one fits, and that they are what kernels would be."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gltf_bullet.numba_aot import is_compiled, library
from gltf_bullet.numba_aot.library import (
    TARGETS,
    host_target,
    library_name,
    link,
    linker,
    package_library,
    project,
    source_digest,
    target_machine,
)
from gltf_bullet.numba_aot.wrappers import c_name, python_name
from gltf_bullet.solver import entries
from gltf_bullet.transforms import IntArray

pytestmark = [
    pytest.mark.skipif(not is_compiled(), reason="kernels are plain Python"),
    pytest.mark.skipif(host_target() is None, reason="no libraries for this system"),
]

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
PLACES = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
needs_linker = pytest.mark.skipif(not linker(), reason="no linker")


def last_of(values: IntArray) -> int:
    """The last one."""
    return int(values[len(values) - 1])


TARGET = str(host_target())
NAMES = (c_name(f"{__name__}.last_of"), python_name(f"{__name__}.last_of"))


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one entry."""
    from gltf_bullet.numba_aot.translation import build

    path = tmp_path_factory.mktemp("linked") / f"last_of{TARGETS[TARGET].suffix}"
    [code] = build([last_of], target_machine(TARGET))
    link(code, path, TARGET, linker(), "")
    return path


@pytest.fixture
def solver(tmp_path: Path, linked: Path) -> Path:
    """A package of one kernel, with its library."""
    folder = tmp_path / "solver"
    (folder / "compiled").mkdir(parents=True)
    shutil.copy(Path(library.__file__), folder)
    (folder / "kernel.py").write_text("ONE = 1\n")
    shutil.copy(linked, folder / "compiled" / library_name(TARGET, source_digest([folder])))
    return folder


def driver_of(folder: Path) -> ModuleType:
    """The module as a new process of that package would have it."""
    spec = importlib.util.spec_from_file_location("copied", folder / "library.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.configure(module.Project("p", "kernels", (), (folder,), folder / "compiled"))
    return module


@needs_linker
def test_unchanged_sources_find_their_library(solver: Path) -> None:
    found = driver_of(solver).package_library()
    assert found.path.parent == solver / "compiled"
    assert found.code_of(*NAMES).c_function
    assert found.code_of("c.somebody", "python.somebody") is None


@needs_linker
@pytest.mark.parametrize("edit", ["changed", "added", "renamed"])
def test_edited_sources_find_none(solver: Path, edit: str) -> None:
    kernel = solver / "kernel.py"
    if edit == "changed":
        kernel.write_text("ONE = 2\n")
    elif edit == "added":
        (solver / "other.py").write_text("")
    else:
        kernel.rename(solver / "colonel.py")
    assert driver_of(solver).package_library() is None


@needs_linker
def test_no_folder_but_the_package_own_is_looked_into(
    solver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the current one, nor those that the system or Python look into."""
    planted = (solver / "compiled").rename(tmp_path / "compiled")
    for folder in (planted, tmp_path):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(planted))
        monkeypatch.syspath_prepend(str(tmp_path))
        assert driver_of(solver).package_library() is None
    assert project().libraries.is_absolute()
    assert project().libraries.parent == Path(entries.__file__).parent


@needs_linker
def test_a_package_without_sources_takes_the_library_that_it_has(solver: Path) -> None:
    """As frozen programs are."""
    module = driver_of(solver)
    for path in solver.rglob("*.py"):
        path.unlink()
    assert module.package_library().path.parent == solver / "compiled"


@needs_linker
@pytest.mark.skipif(TARGET != "linux-x86_64", reason="other systems tell in other ways")
@pytest.mark.parametrize(("missing", "is_found"), [("", True), ("avx2", True), ("sse4_2", False)])
def test_a_processor_gets_what_it_can_run(
    solver: Path, tmp_path: Path, missing: str, is_found: bool
) -> None:
    module = driver_of(solver)
    features = " ".join(sorted({*module._V2, "avx2"} - {missing}))
    module._CPUINFO = tmp_path / "cpuinfo"
    module._CPUINFO.write_text(f"processor\t: 0\nflags\t\t: fpu {features}\nbugs\t\t:\n")
    assert (module.package_library() is not None) is is_found


@needs_linker
@pytest.mark.skipif(TARGET != "linux-x86_64", reason="other systems tell in other ways")
def test_where_processors_are_not_known_none_is_loaded(solver: Path, tmp_path: Path) -> None:
    module = driver_of(solver)
    module._CPUINFO = tmp_path / "nothing"
    assert module.package_library() is None


@needs_linker
@pytest.mark.parametrize(("name", "value"), [("platform", "darwin"), ("abiflags", "t")])
def test_other_systems_and_interpreters_get_none(
    solver: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr(sys, name, value)
    assert driver_of(solver).package_library() is None


SYSTEMS = [
    ("linux", "x86_64", "linux-x86_64"),
    ("linux", "aarch64", "linux-aarch64"),
    ("linux", "riscv64", None),
    ("darwin", "arm64", "macos-arm64"),
    ("darwin", "x86_64", "macos-x86_64"),
    ("win32", "AMD64", "windows-x86_64"),
    ("win32", "ARM64", None),
    ("freebsd14", "amd64", None),
]


@pytest.mark.parametrize(("system", "machine", "target"), SYSTEMS)
def test_systems_have_the_names_that_python_has_for_them(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, target: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert host_target() == target


def test_a_digest_is_that_of_the_sources_however_lines_end(tmp_path: Path) -> None:
    """Git may write them as Windows does, and a wheel for Windows is made elsewhere."""
    for name, end in (("a", b"\n"), ("b", b"\r\n")):
        (tmp_path / name / "solver").mkdir(parents=True)
        (tmp_path / name / "solver" / "kernel.py").write_bytes(b"ONE = 1" + end)
    assert len({source_digest([tmp_path / name / "solver"]) for name in "ab"}) == 1


@needs_linker
def test_a_library_that_cannot_be_loaded_is_none(solver: Path) -> None:
    module = driver_of(solver)
    [path] = (solver / "compiled").iterdir()
    path.unlink()
    path.write_bytes(b"none")
    assert module.package_library() is None


# --- what it is used for ------------------------------------------------------------------------


@pytest.mark.skipif(package_library() is None, reason="no library fits these sources")
def test_a_process_that_finds_one_needs_no_compiler() -> None:
    code = (
        "import sys; sys.modules.update(numba=None, llvmlite=None); "
        "import pybullet, gltf_bullet as gb; "
        f"gb.load_gltf({str(ASSETS / 'ragdoll.gltf')!r}, pybullet.connect(pybullet.DIRECT)).step(3)"
    )
    environment = {**os.environ, **PLACES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "compil" not in done.stderr


ROLL = """
import hashlib, json, sys
import pybullet
import gltf_bullet as gb
from pathlib import Path
import gltf_bullet.solver
from gltf_bullet.numba_aot import library

folder, steps, *files = sys.argv[1:]
if folder == "none":
    sys.modules.update(numba=None, llvmlite=None)
if folder != "package":
    library.configure(library.project()._replace(libraries=Path(folder) / "compiled"))
said = {}
for file in files:
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, physicsClientId=client)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(file, client)
    digest = hashlib.sha256()
    for _ in range(int(steps)):
        scene.step()
        digest.update(scene.node_matrices.tobytes())
    said[file] = digest.hexdigest()
found = library.package_library()
print(json.dumps([library.is_compiled(), found is not None, said]))
"""


EXAMPLES = ("hinge_door", "six_axis_arm", "ragdoll", "vehicle")


def rolled(folder: str, steps: int = 40) -> tuple[bool, bool, dict[str, str]]:
    """What examples do in some steps, and whether kernels are compiled, and in a library."""
    files = [str(ASSETS / f"{name}.gltf") for name in EXAMPLES]
    done = subprocess.run(
        [sys.executable, "-c", ROLL, folder, str(steps), *files],
        env={**os.environ, **PLACES},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    is_made, is_library, said = json.loads(done.stdout.splitlines()[-1])
    return is_made, is_library, said


@pytest.mark.skipif(package_library() is None, reason="no library fits these sources")
@pytest.mark.parametrize("steps", [8, pytest.param(40, marks=pytest.mark.slow)])
def test_plain_python_moves_everything_as_the_library_does_to_the_bit(steps: int) -> None:
    is_compiled, is_library, library_moves = rolled("package", steps)
    assert (is_compiled, is_library) == (True, True)
    is_compiled, is_library, python_moves = rolled("none", steps)
    assert (is_compiled, is_library) == (False, False)
    assert python_moves == library_moves


@needs_linker
@pytest.mark.slow
@pytest.mark.skipif(package_library() is None, reason="no library fits these sources")
def test_code_for_this_processor_moves_everything_alike_to_the_bit(tmp_path: Path) -> None:
    """LLVM fuses no product with a sum and reorders no sum unless told to, on any processor.

    Where nothing can be written, each process compiles for itself.
    """
    _, _, library_moves = rolled("package")
    is_compiled, is_library, moves = rolled("/dev/null")
    assert (is_compiled, is_library) == (True, False)
    assert moves == library_moves
