"""What a wheel's libraries may ask of the system that they come to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gltf_bullet.numba_aot.library import (
    LEVELS,
    library_name,
    package_library,
    project,
    source_digest,
)
from tools.build_wheel import OLDEST_C_LIBRARY, PLACE, ROOT, check_wheel, foreign_needs

MAJOR, MINOR = OLDEST_C_LIBRARY
OLD, NEW = f"GLIBC_{MAJOR}.{MINOR}".encode(), f"GLIBC_{MAJOR}.{MINOR + 1}".encode()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([b"PyErr_Occurred", b"memset", b"libm.so.6", OLD], []),
        ([b"memset", NEW], [NEW.decode()]),
        ([b"PyObject_Call"], ["PyObject_Call"]),
        ([b"_PyRuntime"], ["PyRuntime"]),
        ([b"libLLVM.so.15"], ["libLLVM.so.15"]),
    ],
)
def test_only_what_every_system_has_is_asked_for(names: list[bytes], found: list[str]) -> None:
    assert foreign_needs(b"\x7fELF\0" + b"\0".join(names) + b"\0") == found


@pytest.mark.skipif(package_library() is None, reason="no library fits these sources")
def test_the_libraries_of_this_tree_ask_for_no_more() -> None:
    library = package_library()
    assert library is not None
    for path in library.path.parent.glob("*.so"):
        assert not foreign_needs(path.read_bytes()), path


@pytest.mark.parametrize("kept", [0, 1])
def test_a_wheel_without_one_of_them_is_none(tmp_path: Path, kept: int) -> None:
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for level in list(LEVELS)[:kept]:
            packed.writestr(f"{PLACE}/{library_name(level, source_digest(project().sources))}", b"")
    with pytest.raises(RuntimeError, match=r"some\.whl holds"):
        check_wheel(wheel)


@pytest.mark.slow
def test_where_nothing_links_what_pip_builds_depends_on_numba(tmp_path: Path) -> None:
    """It is compiled at first use there."""
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns(".git", "compiled", "__pycache__", "examples", "tests")
    shutil.copytree(ROOT, tree, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(tmp_path)]
    environment = {**os.environ, "PATH": str(tmp_path), "CC": ""}
    subprocess.run([*pip, str(tree)], check=True, env=environment)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        [name] = [name for name in packed.namelist() if name.endswith("/METADATA")]
        lines = packed.read(name).decode().splitlines()
        assert not [name for name in packed.namelist() if name.endswith(".so")]
    needed = [
        line for line in lines if line.startswith(("Requires-Dist: numba", "Requires-Dist: llvm"))
    ]
    assert {";" in line for line in needed} == {True, False}  # of extras, and of the package
