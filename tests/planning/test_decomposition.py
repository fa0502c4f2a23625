"""coacd runs in a process of its own, within limits, and what it cannot do has a stand-in."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh

from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes import decomposition
from gltf_bullet.planning.shapes.decomposition import Decomposer, Decomposition
from gltf_bullet.planning.shapes.shape_plans import TriangleSet

PATIENT = 120.0
"""[s]: a result must be full however busy the machine is."""


def ring(sections: int = 12) -> TriangleSet:
    mesh = trimesh.creation.annulus(0.3, 0.8, 0.5, sections=sections)
    return TriangleSet(mesh.vertices, mesh.faces)


def angle() -> TriangleSet:
    """An L: what coacd is quickest with, a third of its time for a ring."""
    corners = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float)
    faces = np.array([(0, 1, 3), (1, 2, 3), (0, 3, 5), (3, 4, 5)])
    mesh = trimesh.creation.extrude_triangulation(corners, faces, 1.0)
    return TriangleSet(mesh.vertices, mesh.faces)


def decomposed(mesh: TriangleSet, cache_folder: Path) -> Decomposition:
    options = LoadOptions(cache_folder=cache_folder, decomposition_seconds=PATIENT)
    return Decomposer(options).decompose(mesh)


def bumpy_ball() -> TriangleSet:
    """81920 triangles, which took coacd minutes."""
    mesh = trimesh.creation.icosphere(subdivisions=6)
    points = np.asarray(mesh.vertices)
    bumps = 1.0 + 0.25 * np.sin(5.0 * points[:, 0]) * np.cos(4.0 * points[:, 1])
    return TriangleSet(points * bumps[:, None], mesh.faces)


def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Put a script in the place of coacd's."""
    script = tmp_path / "worker.py"
    script.write_text(code)
    monkeypatch.setattr(decomposition, "_WORKER", script)


@pytest.mark.slow
def test_the_parts_of_a_ring_cover_it_wherever_it_is_and_however_large(tmp_path: Path) -> None:
    for scale, offset in ((1e-3, 5.0), (1e4, -3e5)):
        mesh = ring()
        moved = TriangleSet(mesh.points * scale + offset, mesh.triangles)
        found = decomposed(moved, tmp_path)
        assert found.outcome == "full"
        covered = sum(trimesh.convex.convex_hull(part.points).volume for part in found.parts)
        true = np.pi * (0.8**2 - 0.3**2) * 0.5 * scale**3
        assert covered == pytest.approx(true, rel=0.15)
        points = np.concatenate([part.points for part in found.parts])
        assert points.mean(axis=0) == pytest.approx([offset] * 3, abs=0.1 * scale)


def test_a_watchdog_that_strikes_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    options = LoadOptions(cache_folder=tmp_path, decomposition_seconds=1e-3)
    begin = time.monotonic()
    found = Decomposer(options).decompose(angle())
    assert time.monotonic() - begin < 3.0
    assert (found.outcome, found.parts) == ("none", ())
    assert found.reason == "coacd did not end within 0.001 s of computing"
    assert not list(tmp_path.glob("*.npz"))
    assert decomposed(angle(), tmp_path).outcome == "full"
    # What a cache holds needs no time.
    assert Decomposer(options).decompose(angle()).outcome == "full"


@pytest.mark.slow
def test_a_large_mesh_is_simplified_and_ends_by_counts(tmp_path: Path) -> None:
    shares: list[float] = []
    options = LoadOptions(
        cache_folder=tmp_path,
        decomposition_seconds=PATIENT,
        progress=lambda _, share: shares.append(share),
    )
    found = Decomposer(options).decompose(bumpy_ball())
    assert found.outcome == "full"
    assert len(found.parts) > 4
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < 0.1


@pytest.mark.slow
def test_a_busy_machine_and_other_meshes_change_no_part(tmp_path: Path) -> None:
    quiet = decomposed(ring(), tmp_path / "quiet")
    burn = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        options = LoadOptions(cache_folder=tmp_path / "busy")
        decomposer = Decomposer(options)
        decomposer.decompose(angle())
        busy = decomposer.decompose(ring())
    finally:
        for process in burn:
            process.kill()
            process.wait()
    warm = Decomposer(options).decompose(ring())
    assert quiet.outcome == busy.outcome == warm.outcome == "full"
    for other in (busy, warm):
        assert len(other.parts) == len(quiet.parts)
        for one, two in zip(quiet.parts, other.parts, strict=True):
            assert np.array_equal(one.points, two.points)


def test_more_coarse_parts_than_the_option_says_are_not_searched_again(tmp_path: Path) -> None:
    """With 0 the coarse search is all: its parts are the result, whatever the threshold."""
    found = [
        Decomposer(
            LoadOptions(
                cache_folder=tmp_path,
                decomposition_seconds=PATIENT,
                fine_search_parts=0,
                decomposition_threshold=threshold,
            )
        ).decompose(ring())
        for threshold in (0.05, 0.15)
    ]
    fine = decomposed(ring(), tmp_path)
    assert [len(one.parts) for one in found] == [len(found[0].parts)] * 2
    assert len(fine.parts) > len(found[0].parts)


def test_every_mesh_has_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "given"
    code = (
        "import sys, numpy as np\n"
        "folder = sys.argv[1]\n"
        f"print(float(np.load(folder + '/mesh.npz')['seconds']), file=open({str(given)!r}, 'a'))\n"
        "np.savez(folder + '/draft.npz', part0=np.eye(4, 3) - 0.5)"
    )
    worker(tmp_path, monkeypatch, code)
    decomposer = Decomposer(LoadOptions(cache_folder=tmp_path, decomposition_seconds=60.0))
    # A draft is not kept: the same mesh is tried again.
    found = [decomposer.decompose(ring(12 + k)) for k in (0, 1, 0)]
    assert [one.outcome for one in found] == ["draft"] * 3
    assert given.read_text().split() == ["60.0"] * 3


def test_a_watchdog_that_strikes_late_leaves_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import resource, sys, numpy as np\n"
        "np.savez(sys.argv[1] + '/draft.npz', part0=np.eye(4, 3) - 0.5)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "while True: pass"
    )
    worker(tmp_path, monkeypatch, code)
    options = LoadOptions(cache_folder=tmp_path, decomposition_seconds=1.0)
    found = Decomposer(options).decompose(ring())
    assert (found.outcome, len(found.parts)) == ("draft", 1)
    assert not list(tmp_path.glob("*.npz"))


def test_a_worker_that_is_killed_or_crashes_leaves_the_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker(tmp_path, monkeypatch, "import os; os.abort()")
    found = decomposed(ring(), tmp_path)
    assert found.outcome == "none"
    assert "code -6" in found.reason


def test_what_a_crashing_worker_has_finished_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os, sys, numpy as np\n"
        "np.savez(sys.argv[1] + '/draft.npz', part0=np.eye(4, 3) - 0.5)\n"
        "os.abort()"
    )
    worker(tmp_path, monkeypatch, code)
    found = decomposed(ring(), tmp_path)
    assert (found.outcome, len(found.parts)) == ("draft", 1)


@pytest.mark.parametrize("part", ["np.full((9, 3), np.nan)", "np.zeros((9, 3))", "np.zeros(7)"])
def test_a_worker_that_writes_nonsense_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    code = f"import sys, numpy as np\nnp.savez(sys.argv[1] + '/full.npz', part0={part})"
    worker(tmp_path, monkeypatch, code)
    found = decomposed(ring(), tmp_path)
    assert found.outcome == "none"


def test_an_interrupted_load_ends_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "alive"
    code = (
        f"import time, pathlib\nfor _ in range(50):\n"
        f"    pathlib.Path({str(marker)!r}).write_text(str(time.monotonic()))\n    time.sleep(0.05)"
    )
    worker(tmp_path, monkeypatch, code)

    def interrupt(what: str, share: float) -> None:
        if marker.exists():
            raise KeyboardInterrupt

    options = LoadOptions(cache_folder=tmp_path, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        Decomposer(options).decompose(ring())
    written = marker.read_text()
    time.sleep(0.3)
    assert marker.read_text() == written


def test_modules_in_the_working_directory_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A downloaded asset may bring a numpy.py, and its user may stand beside it."""
    (tmp_path / "numpy.py").write_text("import pathlib; pathlib.Path('was_run').touch()")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    found = decomposed(angle(), tmp_path / "cache")
    assert found.outcome == "full"
    assert not (tmp_path / "was_run").exists()


def test_a_broken_cache_file_is_made_anew(tmp_path: Path) -> None:
    options = LoadOptions(cache_folder=tmp_path, decomposition_seconds=PATIENT)
    Decomposer(options).decompose(angle())
    (entry,) = tmp_path.glob("*.npz")
    for content in (b"PK\x03\x04 nonsense", entry.read_bytes()[:-200]):
        entry.write_bytes(content)
        assert Decomposer(options).decompose(angle()).outcome == "full"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    options = LoadOptions(cache_folder=in_the_way / "folder", decomposition_seconds=PATIENT)
    assert Decomposer(options).decompose(angle()).outcome == "full"


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_budget_must_be_a_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="decomposition_seconds"):
        LoadOptions(decomposition_seconds=seconds)
