"""What users may rely on: the exported names and their signatures."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

import gltf_bullet as gb

FIXED = {
    "load_gltf", "read_asset", "check", "LoadOptions", "Scene", "Asset", "Report", "Body",
    "NodeView", "Issue", "Severity", "GltfBulletError", "AssetError", "ContainerError",
    "InvalidAssetError", "UnsupportedAssetError", "TranslationError", "EngineError",
    "SceneRemovedError",
}  # fmt: skip


def test_the_fixed_names_are_exported() -> None:
    assert set(gb.__all__) >= FIXED
    assert list(gb.__all__) == sorted(gb.__all__)


@pytest.mark.parametrize("name", gb.__all__)
def test_an_exported_name_exists_and_is_described(name: str) -> None:
    value = getattr(gb, name)
    assert inspect.getdoc(value), f"{name} has no docstring"


def test_the_viewer_is_there_without_an_import_of_its_own() -> None:
    assert gb.viewer.LAYERS[0] == "colliders"
    assert dir(gb.viewer) == ["COLORS", "DebugDraw", "LAYERS", "Labels", "Strokes", "WebView"]
    for name in gb.viewer.__all__:
        assert getattr(gb.viewer, name) is not None
    with pytest.raises(AttributeError, match="attribute DebugDrawer"):
        gb.viewer.DebugDrawer  # noqa: B018  # the access is the test


def test_an_unknown_name_is_an_attribute_error_with_near_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'load_glft'; did you mean 'load_gltf'"):
        gb.load_glft  # noqa: B018  # the access is the test
    assert not hasattr(gb, "Wheel")


def test_dir_shows_the_public_names_and_no_others() -> None:
    # In a fresh process, before and after rooms were imported, which become attributes then.
    script = (
        "import gltf_bullet as gb\n"
        "before = dir(gb)\n"
        "gb.load_gltf, gb.check\n"
        "print(before == dir(gb) == sorted(gb.__all__))"
    )
    assert _python(script) == "True"


def test_the_import_loads_no_room() -> None:
    script = (
        "import sys, gltf_bullet\n"
        "print(sorted(name for name in sys.modules if name.startswith(('gltf_bullet.', 'numpy'))))"
    )
    assert _python(script) == "[]"


def test_star_import_and_pickle_find_every_name() -> None:
    script = (
        "import pickle\n"
        "from gltf_bullet import *\n"
        "print(pickle.loads(pickle.dumps(Scene)) is Scene, Severity.ERROR.name, __version__)"
    )
    assert _python(script) == f"True ERROR {version('gltf_bullet')}"


def test_the_version_is_that_of_the_package() -> None:
    assert gb.__version__ == version("gltf_bullet")


def _python(script: str) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_arguments_of_load_gltf() -> None:
    parameters = inspect.signature(gb.load_gltf).parameters
    assert list(parameters) == [
        "source", "physics_client", "position", "orientation", "scale", "up_axis", "scene_index",
        "options",
    ]  # fmt: skip
    keyword_only = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert keyword_only == list(parameters)[2:]
    assert parameters["physics_client"].default == 0
    assert parameters["up_axis"].default == "z"


def test_instantiate_takes_what_load_gltf_takes() -> None:
    load = list(inspect.signature(gb.load_gltf).parameters)[1:]
    instantiate = list(inspect.signature(gb.Asset.instantiate).parameters)[1:]
    assert instantiate == load


@pytest.mark.parametrize(
    "member",
    [
        "step", "before_step", "after_step", "time", "node", "world_from_node",
        "node_matrices", "body_of", "ray_cast", "apply_impulse", "apply_point_impulse", "remove",
        "render",
    ],
)  # fmt: skip
def test_a_scene_has_what_the_design_promises(member: str) -> None:
    assert hasattr(gb.Scene, member)


def test_errors_are_one_family() -> None:
    assert issubclass(gb.ContainerError, gb.AssetError)
    assert issubclass(gb.InvalidAssetError, gb.AssetError)
    assert issubclass(gb.UnsupportedAssetError, gb.AssetError)
    for error in (gb.AssetError, gb.TranslationError, gb.EngineError, gb.SceneRemovedError):
        assert issubclass(error, gb.GltfBulletError)


@pytest.mark.parametrize(
    "values",
    [
        {"density": 0.0},
        {"concave": "voxels"},
        {"visuals": "all"},
        {"max_hull_points": 3},
        {"max_convex_parts": 0},
    ],
)
def test_wrong_options_are_refused_at_once(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        gb.LoadOptions(**values)


def test_the_command_is_installed() -> None:
    scripts = entry_points(group="console_scripts", name="gltf-bullet")
    assert [script.value for script in scripts] == ["gltf_bullet.cli:main"]
