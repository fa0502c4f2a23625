"""Libraries that come with the package: which one fits, and that they are what kernels would be."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gltf_bullet.numba_aot import library, object_cache
from gltf_bullet.numba_aot.declarations import IS_COMPILED
from gltf_bullet.numba_aot.library import (
    LEVELS,
    library_name,
    link,
    linker,
    package_library,
    project,
    source_digest,
)
from gltf_bullet.numba_aot.wrappers import c_name, python_name
from gltf_bullet.solver import entries
from gltf_bullet.solver.entries import build_libraries
from gltf_bullet.transforms import IntArray

pytestmark = [
    pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python"),
    pytest.mark.skipif(not library.is_for_this_platform(), reason="no libraries for this system"),
]

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
PLACES = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
needs_linker = pytest.mark.skipif(not linker(), reason="no linker")


def last_of(values: IntArray) -> int:
    """The last one."""
    return int(values[len(values) - 1])


NAMES = (c_name(f"{__name__}.last_of"), python_name(f"{__name__}.last_of"))


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one entry, for the lowest level."""
    from gltf_bullet.numba_aot.library import level_machine
    from gltf_bullet.numba_aot.translation import build

    folder = tmp_path_factory.mktemp("linked")
    [code] = build(last_of, level_machine("x86-64-v2"))
    (folder / "last_of.o").write_bytes(code)
    link([folder / "last_of.o"], folder / "last_of.so")
    return folder / "last_of.so"


@pytest.fixture
def solver(tmp_path: Path, linked: Path) -> Path:
    """A package of one kernel, with a library for each level."""
    folder = tmp_path / "solver"
    (folder / "compiled").mkdir(parents=True)
    shutil.copy(Path(library.__file__), folder)
    (folder / "kernel.py").write_text("ONE = 1\n")
    digest = source_digest([folder])
    for level in LEVELS:
        shutil.copy(linked, folder / "compiled" / library_name(level, digest))
    return folder


def driver_of(folder: Path) -> ModuleType:
    """The module as a new process of that package would have it."""
    spec = importlib.util.spec_from_file_location("copied", folder / "library.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.configure(module.Project("p", "kernels", "", "", (folder,), folder / "compiled"))
    return module


def level_found(module: ModuleType) -> str | None:
    found = module.package_library()
    return None if found is None else found.path.name.rpartition("-")[0]


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
@pytest.mark.parametrize(
    ("missing", "level"),
    [("", "x86-64-v3"), ("avx2", "x86-64-v2"), ("sse4_2", None)],
)
def test_a_processor_gets_the_best_that_it_can_run(
    solver: Path, tmp_path: Path, missing: str, level: str | None
) -> None:
    features = " ".join(sorted(LEVELS["x86-64-v3"] - {missing}))
    module = driver_of(solver)
    module._CPUINFO = tmp_path / "cpuinfo"
    module._CPUINFO.write_text(f"processor\t: 0\nflags\t\t: fpu {features}\nbugs\t\t:\n")
    assert level_found(module) == level


@needs_linker
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


@needs_linker
def test_a_library_that_cannot_be_loaded_is_passed_over(solver: Path) -> None:
    module = driver_of(solver)
    module._processor_features = lambda: LEVELS["x86-64-v3"]
    (solver / "compiled" / library_name("x86-64-v3", source_digest([solver]))).write_bytes(b"none")
    assert level_found(module) == "x86-64-v2"


# --- what it is used for ------------------------------------------------------------------------


@pytest.mark.skipif(package_library() is None, reason="no library fits these sources")
def test_a_process_that_finds_one_needs_no_compiler_and_no_folder(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules.update(numba=None, llvmlite=None); "
        "import pybullet, gltf_bullet as gb; "
        f"gb.load_gltf({str(ASSETS / 'ragdoll.gltf')!r}, pybullet.connect(pybullet.DIRECT)).step(3)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **PLACES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "compil" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled, and Numba is not installed."""
    monkeypatch.setattr(object_cache, "package_library", lambda: None)
    monkeypatch.setitem(sys.modules, "numba", None)  # type: ignore[arg-type]


def test_without_numba_the_message_says_what_to_install(no_compiler: None) -> None:
    with pytest.raises(ImportError, match=r"pip install 'gltf_bullet\[jit\]'") as caught:
        object_cache.compile_side_by_side(("json",))
    assert caught.value.name == "numba"
    with pytest.raises(ImportError, match=r"gltf_bullet\[jit\]"):
        object_cache.object_code(last_of)


ROLL = """
import hashlib, json, sys
import pybullet
import gltf_bullet as gb
from pathlib import Path
from gltf_bullet.numba_aot import object_cache, library

folder, level, *files = sys.argv[1:]
library.configure(library.project()._replace(libraries=Path(folder)))
library._processor_features = lambda: library.LEVELS.get(level, frozenset())
said = {}
for file in files:
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, physicsClientId=client)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(file, client)
    digest = hashlib.sha256()
    for _ in range(600):
        scene.step()
        digest.update(scene.node_matrices.tobytes())
    said[file] = digest.hexdigest()
found = library.package_library()
print(json.dumps([found and found.path.name.rpartition("-")[0], said]))
"""


@needs_linker
@pytest.mark.slow
def test_libraries_and_compiled_kernels_move_everything_alike_to_the_bit(tmp_path: Path) -> None:
    """LLVM fuses no product with a sum and reorders no sum unless told to, on any processor."""
    folder = project().libraries
    if package_library() is None:
        folder = tmp_path
        build_libraries(folder)
    files = [str(ASSETS / f"{name}.gltf") for name in ("ragdoll", "vehicle", "suspension_bridge")]
    features = library._processor_features()
    levels = [level for level, needed in LEVELS.items() if needed <= features]
    motions = []
    for level in (*levels, "this processor"):
        done = subprocess.run(
            [sys.executable, "-c", ROLL, str(folder), level, *files],
            env={**os.environ, **PLACES},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        used, said = json.loads(done.stdout.splitlines()[-1])
        assert used == (level if level in LEVELS else None)
        motions.append(said)
    assert len(motions) > 1
    assert all(motion == motions[0] for motion in motions)
