"""Values as bytes: the same again, and bytes of somebody else make nothing."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gltf_bullet.diagnostics import ROOT, Issue, JsonPointer
from gltf_bullet.gltf.document import ASSET_VERSION_MISSING
from gltf_bullet.transforms import Pose
from gltf_bullet.value_pickles import _array, dumped, loaded

VALUES = [
    Pose((0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0)),
    Issue(ASSET_VERSION_MISSING, ROOT / "asset", {"got": 1}),
    JsonPointer("/nodes/1"),
    {"one": (1, 2.0, None), 3: frozenset({4})},
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back(value: object) -> None:
    again = loaded(dumped(value))
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize("is_writeable", [True, False])
def test_an_array_comes_back_with_its_flag(*, is_writeable: bool) -> None:
    array = np.arange(6.0).reshape(2, 3)
    array.setflags(write=is_writeable)
    again = loaded(dumped(array))
    assert np.array_equal(again, array)
    assert again.flags.writeable == is_writeable


def test_what_is_too_large_is_given_up() -> None:
    value = [np.zeros(10_000)] + [float(k) for k in range(100)]
    size = len(dumped(value))
    assert len(dumped(value, most=size)) == size
    with pytest.raises(OverflowError):
        dumped(value, most=size - 1)


class Harm:
    """Would make a file."""

    def __init__(self, call: Any, *arguments: object) -> None:
        self.state = call, arguments

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        return self.state


def test_what_is_no_value_is_neither_made_nor_called(tmp_path: Path) -> None:
    path = tmp_path / "harm"
    for harm in (
        Harm(os.system, f"touch {path}"),
        Harm(subprocess.Popen, ["touch", str(path)]),
        Harm(eval, f"open({str(path)!r}, 'w')"),
        Harm(pytest.main, []),
        Path("/"),
    ):
        with pytest.raises(pickle.UnpicklingError, match="is no value"):
            loaded(pickle.dumps(harm))
    assert not path.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("gltf_bullet.solver.compiling.keeping", "subprocess.Popen"),
        ("gltf_bullet.bullet.kept_files", "os.system"),
        ("gltf_bullet.disk_cache", "write_file"),
        ("gltf_bullet.disk_cache", "Path"),
        # Classes of ours that open files, start programs or connect to engines when they are made.
        ("gltf_bullet.output_files", "FileAside"),
        ("gltf_bullet.bullet.session", "EngineSession"),
        ("gltf_bullet.viewer.session", "Session"),
    ],
)
def test_modules_of_ours_lend_nothing_that_they_import(module: str, name: str) -> None:
    data = b"\x80\x04" + b"".join(
        b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name)
    )
    with pytest.raises(pickle.UnpicklingError, match="is no value"):
        loaded(data + b"\x93.")


@pytest.mark.parametrize("kind", ["O", "S8", "M8[s]"])
def test_arrays_of_anything_but_numbers_are_not_made(kind: str) -> None:
    """Objects would be wherever the bytes say."""
    with pytest.raises((TypeError, pickle.PicklingError)):
        dumped(np.zeros(1, dtype=kind))
    with pytest.raises(KeyError):
        loaded(pickle.dumps(Harm(_array, np.dtype(kind).str[1:], (1,), bytes(8), "C")))


def test_arrays_keep_their_order_and_numbers_their_kind() -> None:
    grid = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    again = loaded(dumped([grid, np.float32(0.1), np.int64(3)]))
    assert again[0].flags.f_contiguous
    assert np.array_equal(again[0], grid)
    assert [type(number) for number in again[1:]] == [np.float32, np.int64]
    assert again[1:] == [np.float32(0.1), 3]
