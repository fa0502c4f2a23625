"""What a stage may open: files in its folder and in those that the user allows, and no others."""

from __future__ import annotations

import os
import random
import stat
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import gltf_bullet as gb
from gltf_bullet.convert.issues import (
    NOT_IN_GLTF,
    ROBOT_FILE_MISSING,
    ROBOT_FILE_REFUSED,
    ROBOT_FILE_UNREADABLE,
    ROBOT_REFUSED,
    USD_NEEDS_USD_CORE,
)
from gltf_bullet.convert.usd import process
from gltf_bullet.convert.usd.process import convert_stage
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from tests.convert.usd_stages import HEAD, at, convert, cube, motion_of, stage
from tests.prepared_children import convert_in_prepared_children
from tools.fuzzing.stages import broken

pytest.importorskip("pxr")

SECRET = HEAD.format(metres=1, kilograms=1, up="Z").replace("World", "Part")
PART = SECRET + cube("Part", size=0.1)


@pytest.fixture(autouse=True)
def prepared_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each conversion starts a process as it does for users, where it is not one of hundreds."""
    if request.node.get_closest_marker("slow"):
        convert_in_prepared_children(monkeypatch)


class Watched:
    """A pipe outside of the folder: whoever opens it waits here, and is noticed."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.was_opened = False
        self._path = path
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.is_set():
            try:
                # Without a reader at the other end it cannot be opened for writing.
                os.close(os.open(self._path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # noqa: PERF203  # it waits
                time.sleep(0.005)
            else:
                self.was_opened = True
                return

    def end(self) -> bool:
        self._done.set()
        self._thread.join()
        return self.was_opened


NAMED = {
    "reference": 'def "x" (prepend references = @{}@) {{\n}}',
    "payload": 'def "x" (prepend payload = @{}@) {{\n}}',
    "inherited": 'class "c" (prepend references = @{}@) {{\n}}\n'
    'def "x" (prepend inherits = </World/c>) {{\n}}',
    "variant": 'def "x" (prepend variantSets = "v"\nvariants = {{ string v = "a" }}) {{\n'
    'variantSet "v" = {{\n"a" (prepend references = @{}@) {{\n}}\n}}\n}}',
    "clips": 'def Sphere "x" (clips = {{ dictionary default = {{ asset[] assetPaths = [@{0}@]\n'
    'double2[] active = [(0, 0)]\ndouble2[] times = [(0, 0)]\nstring primPath = "/Part"\n'
    "asset manifestAssetPath = @{0}@ }} }}\n) {{\ndouble radius\n}}",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("is_absolute", [True, False])
def test_no_file_outside_of_the_folder_is_opened(
    tmp_path: Path, kind: str, is_absolute: bool
) -> None:
    outside = tmp_path / "outside.usda"
    watched = Watched(outside)
    folder = tmp_path / "robot"
    folder.mkdir()
    name = outside.as_posix() if is_absolute else "../outside.usda"
    text = stage(cube("a") + NAMED[kind].format(name))
    asset, diagnostics = convert(folder, text)
    assert not watched.end()
    assert motion_of(asset, "a").mass
    issue = diagnostics.take(NOT_IN_GLTF if kind == "clips" else ROBOT_FILE_REFUSED)
    assert "clips" in issue.message or "outside.usda" in issue.message


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
def test_neither_a_sublayer_nor_a_layer_of_a_layer_opens_one(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "outside.usda")
    folder = tmp_path / "robot"
    folder.mkdir()
    inner = PART.replace('upAxis = "Z"', 'upAxis = "Z"\nsubLayers = [@../outside.usda@]')
    (folder / "part.usda").write_text(inner)
    _, diagnostics = convert(folder, stage('def "x" (prepend references = @part.usda@) {\n}'))
    assert not watched.end()
    assert "part.usda" in diagnostics.take(ROBOT_FILE_REFUSED).message


@pytest.mark.skipif(sys.platform == "win32", reason="needs rights for links")
def test_links_do_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "outside.usda").write_text(PART)
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "part.usda").symlink_to(tmp_path / "outside.usda")
    text = stage(cube("a") + 'def "x" (prepend references = @part.usda@) {\n}')
    asset, diagnostics = convert(folder, text)
    assert len(asset.physics.motions) == 1
    diagnostics.take(ROBOT_FILE_REFUSED)


def test_allowed_folders_may_be_named(tmp_path: Path) -> None:
    parts, folder = tmp_path / "parts", tmp_path / "robot"
    parts.mkdir()
    folder.mkdir()
    (parts / "part.usda").write_text(PART)
    text = stage('def "x" (prepend references = @../parts/part.usda@) {\n}')
    asset, diagnostics = convert(folder, text, (parts,))
    assert motion_of(asset, "x").mass == pytest.approx(1.0, rel=1e-6)
    assert not len(diagnostics)


def test_missing_and_broken_layers_leave_the_rest(tmp_path: Path) -> None:
    (tmp_path / "broken.usda").write_text("#usda 1.0\n(")
    (tmp_path / "text.usda").write_text("hello")
    names = ("nothing.usda", "broken.usda", "text.usda")
    text = "".join(f'def "x{k}" (prepend references = @{name}@) {{\n}}\n'
                   for k, name in enumerate(names))  # fmt: skip
    asset, diagnostics = convert(tmp_path, stage(cube("a") + text))
    assert len(asset.physics.motions) == 1
    kinds = [issue.kind for issue in diagnostics]
    assert kinds.count(ROBOT_FILE_MISSING) == 1
    assert kinds.count(ROBOT_FILE_UNREADABLE) == 2


def test_a_name_that_is_an_expression_is_not_evaluated(tmp_path: Path) -> None:
    (tmp_path / "part.usda").write_text(PART)
    text = stage(cube("a") + 'def "x" (prepend references = @`"part.usda"`@) {\n}')
    _, diagnostics = convert(tmp_path, text)
    assert "expression" in diagnostics.take(NOT_IN_GLTF).message


def test_a_picture_outside_of_the_folder_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    shader = """def Material "look" {
token outputs:surface.connect = </World/look/shader.outputs:surface>
def Shader "shader" {
uniform token info:id = "UsdPreviewSurface"
color3f inputs:diffuseColor.connect = </World/look/picture.outputs:rgb>
token outputs:surface
}
def Shader "picture" {
uniform token info:id = "UsdUVTexture"
asset inputs:file = @../secret.png@
float3 outputs:rgb
}
}
"""
    bound = cube("a", "rel material:binding = </World/look>", apis="MaterialBindingAPI")
    asset, diagnostics = convert(folder, stage(bound + shader))
    assert b"secret" not in asset.to_glb()
    assert "secret.png" in diagnostics.take(ROBOT_FILE_REFUSED).message


# --- processes that end or do not -----------------------------------------------------------------


def refused(path: Path) -> str:
    diagnostics = Diagnostics()
    with pytest.raises(ContainerError):
        convert_stage(path, diagnostics)
    return diagnostics.take(ROBOT_REFUSED).message


@pytest.mark.parametrize(
    "text", ["#usda 1.0\n(", "hello", "", '#usda 1.0\ndef Xform "World" {\n}'],
)  # fmt: skip
def test_what_is_no_stage_of_anything_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(text)
    assert "OpenUSD" in refused(path)


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(stage(cube("a", at(0, 0, 0)).replace("(0, 0, 0)", "(nan, 0, 0)")))
    assert "/World/a" in refused(path)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
@pytest.mark.parametrize("program", ["while True: pass", "import time; time.sleep(60)"])
def test_a_reader_that_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """The program's own clock, in front of something that never ends."""
    path, fake = tmp_path / "stage.usda", tmp_path / "fake.py"
    path.write_text(stage(cube("a")))
    fake.write_text(f"from gltf_bullet.convert.usd.program import _Clock\n_Clock(0.2)\n{program}\n")
    monkeypatch.setattr(process, "_PROGRAM", fake)
    assert "takes longer" in refused(path)


def test_a_reader_that_dies_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, fake = tmp_path / "stage.usda", tmp_path / "fake.py"
    path.write_text(stage(cube("a")))
    fake.write_text("import os; os.abort()")
    monkeypatch.setattr(process, "_PROGRAM", fake)
    assert "its process ends" in refused(path)


def test_without_openusd_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(stage(cube("a")))
    monkeypatch.setattr(process.importlib.util, "find_spec", lambda _: None)
    diagnostics = Diagnostics()
    with pytest.raises(ContainerError):
        convert_stage(path, diagnostics)
    assert "gltf_bullet[usd]" in diagnostics.take(USD_NEEDS_USD_CORE).message


def test_a_stage_that_does_not_exist_is_reported_as_any_file() -> None:
    with pytest.raises(ContainerError) as raised:
        gb.read_asset("nothing.usda")
    assert raised.value.issues[0].code == "FILE_UNREADABLE"


def test_a_deep_stage_does_not_end_the_process(tmp_path: Path) -> None:
    """Prims are walked without recursion; a thousand levels are as good as one."""
    depth = 1000
    text = "".join(f'def Xform "x{k}" {{\n' for k in range(depth)) + cube("a") + "}\n" * depth
    asset, _ = convert(tmp_path, stage(text))
    assert len(asset.physics.motions) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
def test_500_broken_stages_end_in_time_and_open_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, binary and archived stages with bodies, joints, meshes and a name that leads out."""
    from pxr import Sdf, UsdUtils

    monkeypatch.setattr(process, "_MOST_SECONDS", 60.0)
    watched = Watched(tmp_path / "outside.usda")
    folder = tmp_path / "robot"
    folder.mkdir()
    sources: list[tuple[str, bytes]] = []
    models = sorted((Path(__file__).parent / "usd_models").glob("*.usda"))
    for number, model in enumerate(models[:3]):
        text = model.read_text(encoding="utf-8")
        outside = 'def "outside" (prepend references = @../outside.usda@) {\n}\n'
        plain = folder / f"plain{number}.usda"
        plain.write_text(f"{text}\n{outside}", encoding="utf-8")
        binary = folder / f"binary{number}.usdc"
        assert Sdf.Layer.OpenAsAnonymous(str(plain)).Export(str(binary))
        sources += [(".usda", plain.read_bytes()), (".usdc", binary.read_bytes())] * 2
    archive = folder / "archive.usdz"
    assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(models[0])), str(archive))
    sources.append((".usdz", archive.read_bytes()))
    rng = random.Random(56)  # noqa: S311  # fixed faults, not secrets
    ends: Counter[str] = Counter()
    reasons: list[str] = []
    slowest = 0.0
    for number in range(500):
        suffix, source = rng.choice(sources)
        path = folder / f"broken{number}{suffix}"
        path.write_bytes(broken(source, rng))
        begin = time.monotonic()
        try:
            convert_stage(path, Diagnostics())
            ends["read"] += 1
        except ContainerError as error:
            ends["refused"] += 1
            reasons.append(error.issues[-1].message)
        slowest = max(slowest, time.monotonic() - begin)
        path.unlink()
    assert not watched.end()
    # The program's own clock ends it, long before its parent does.
    assert not any("longer than 60 s" in reason for reason in reasons)
    assert min(ends["read"], ends["refused"]) > 10
    print(f"{dict(ends)}, the slowest {slowest:.1f} s")


def test_the_stage_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(stage(cube("a") + 'def "x" (prepend references = @../no.usda@) {\n}'))
    before = path.read_bytes(), os.stat(path)[stat.ST_MTIME]
    convert_stage(path, Diagnostics())
    assert (path.read_bytes(), os.stat(path)[stat.ST_MTIME]) == before
    assert [p.name for p in tmp_path.iterdir()] == ["stage.usda"]
