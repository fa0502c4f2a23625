"""What a wheel's libraries may ask of the system that they come to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gltf_bullet.numba_aot.library import (
    TARGETS,
    host_target,
    library_name,
    link,
    linker,
    package_library,
    project,
    source_digest,
)

pytest.importorskip("lief")
pytest.importorskip("hatchling")

from tools.build_wheel import KINDS, PLACE, ROOT, check_wheel, complaints
from tools.hatch_build import _IMPORTED, require_own_engine


@pytest.mark.skipif(package_library() is None, reason="no library fits these sources")
def test_the_library_of_this_tree_is_as_it_should_be() -> None:
    library = package_library()
    assert library is not None
    assert complaints(library.path.read_bytes(), str(host_target())) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_what_a_library_lacks_or_asks_for_is_found(target: str, tmp_path: Path) -> None:
    """A C library of each system, with a function of Python that is no part of its promises."""
    pytest.importorskip("ziglang")
    source = tmp_path / "made.c"
    source.write_text("void *PyCell_Get(void *); void *got(void *a) { return PyCell_Get(a); }")
    words = [*linker(target), "-c", str(source), "-o", str(tmp_path / "made.o")]
    subprocess.run(words, check=True)
    library = tmp_path / f"made{TARGETS[target].suffix}"
    link((tmp_path / "made.o").read_bytes(), library, target, linker(target), "PyCell_Get\n")
    found = complaints(library.read_bytes(), target)
    assert len(found) == 2
    assert "solve" in found[0]
    assert found[1] == "it needs ['PyCell_Get']"
    other = next(name for name in KINDS if KINDS[name] != KINDS[target])
    assert f"it is {KINDS[target]}, not {KINDS[other]}" in complaints(library.read_bytes(), other)


def test_a_wheel_without_it_or_of_another_system_is_none(tmp_path: Path) -> None:
    tag = TARGETS["linux-x86_64"].wheel
    wheel = tmp_path / f"some-1-py3-none-{tag}.whl"
    zipfile.ZipFile(wheel, "w").close()
    with pytest.raises(RuntimeError, match=r"whl holds \[\], not"):
        check_wheel(wheel, "linux-x86_64")
    with pytest.raises(RuntimeError, match="is not tagged as one for macos-arm64"):
        check_wheel(wheel, "macos-arm64")
    with zipfile.ZipFile(wheel, "w") as packed:
        name = library_name("linux-x86_64", source_digest(project().sources))
        packed.writestr(f"{PLACE}/{name}", b"")
    with pytest.raises(RuntimeError, match="it is no library"):
        check_wheel(wheel, "linux-x86_64")


# --- a PyBullet that is there already -----------------------------------------------------------

ASKED = ["pybullet>=3; python_version < '3'", "pybullet-arm64>=3; python_version >= '3'", "numpy"]


def installed(folder: Path, name: str, version: str = "3.2.7") -> list[str]:
    """A distribution as conda installs it."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return [str(folder)]


def test_a_pybullet_of_another_name_is_not_written_over(tmp_path: Path) -> None:
    folders = installed(tmp_path, "pybullet")
    with pytest.raises(RuntimeError, match=r"here already \(pybullet 3\.2\.7\).*present_pybullet"):
        require_own_engine(ASKED, folders)
    installed(tmp_path, "pybullet-arm64", "3.2.8+present")  # what the message says to install
    require_own_engine(ASKED, folders)


@pytest.mark.parametrize("name", ["pybullet-arm64", "numpy"])
def test_the_pybullet_that_is_asked_for_or_none_is_fine(tmp_path: Path, name: str) -> None:
    require_own_engine(ASKED, installed(tmp_path, name))


@pytest.mark.slow
def test_pip_does_not_write_over_one_that_is_there(tmp_path: Path) -> None:
    """Whatever this Python is: what it asks for is there by the other name."""
    asked = [line for line in requires("gltf_bullet") or () if line.startswith("pybullet")]
    own = {Requirement(line).name for line in asked if Requirement(line).marker.evaluate()}
    [other] = {"pybullet", "pybullet-arm64"} - own
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    installed(packages, other)
    (packages / "pybullet.py").write_text("MINE = True\n")
    pip = [str(tmp_path / "venv" / "bin" / "python"), "-m", "pip"]
    done = subprocess.run([*pip, "install", str(ROOT)], capture_output=True, text=True)
    assert done.returncode != 0
    assert "PyBullet is here already" in done.stdout + done.stderr
    assert [path.name for path in packages.glob("pybullet*.so")] == []


# --- wheels -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_the_hook_a_wheel_has_no_machine_code(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns(".git", "compiled", "__pycache__", "examples", "tests")
    shutil.copytree(ROOT, tree, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(tmp_path)]
    environment = {**os.environ, "HATCH_BUILD_NO_HOOKS": "true"}
    subprocess.run([*pip, str(tree)], check=True, env=environment)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert not [name for name in packed.namelist() if name.startswith(f"{PLACE}/")]


def test_the_build_environment_has_whatever_the_modules_of_kernels_import() -> None:
    """Else nothing is compiled there, and what is installed runs in plain Python."""
    code = (
        "import sys, gltf_bullet.solver.entries\n"
        "from importlib.metadata import packages_distributions\n"
        "tops = {name.partition('.')[0] for name in list(sys.modules)}\n"
        "known = packages_distributions()\n"
        "print(*sorted({made for top in tops for made in known.get(top, ())}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    direct = {
        Requirement(line).name.lower().replace("_", "-") for line in requires("gltf_bullet") or ()
    }
    imported = {name.lower().replace("_", "-") for name in result.stdout.split()}
    assert imported & direct <= _IMPORTED
