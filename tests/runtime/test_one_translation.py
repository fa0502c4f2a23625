"""``inspect``, ``check`` and ``load_gltf`` translate alike: same issues, same kinds of bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.runtime.inspect.inspection import inspect_asset

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "assets"
EXAMPLES = sorted((ROOT / "examples" / "assets").glob("*.gl*"))
PUBLISHED = sorted(path for path in SHARED.rglob("*") if path.suffix in (".gltf", ".glb"))

Finding = tuple[str, str]
BY_ONE_ALONE = {
    "BODIES_OVERLAP", "BODIES_BEGIN_INSIDE", "HEAVY_ON_LIGHT", "BOX_AS_HULL", "BODY_IN_NO_SCENE",
    "SYSTEM_OF_NOBODY", "DRIVE_WITHOUT_FORCE", "BODY_BELOW_ANIMATION", "DENSITY_UNLIKELY",
    "JOINT_TAKES_VELOCITY",
}  # fmt: skip
"""What overlaps at load is found by the engine in ``load_gltf``; ``check`` asks about likely slips.
"""


def findings(issues: tuple[gb.Issue, ...]) -> list[Finding]:
    """Codes and places; messages may hold positions, which the frame of the asset decides."""
    found = ((issue.code, str(issue.pointer)) for issue in issues)
    return sorted(finding for finding in found if finding[0] not in BY_ONE_ALONE)


def assert_alike(path: Path) -> None:
    checked = gb.check(path)
    if not checked.is_usable:
        with headless_world() as client, pytest.raises(GltfBulletError):
            gb.load_gltf(path, client)
        return
    inspected = inspect_asset(gb.read_asset(path))
    with headless_world() as client:
        scene = gb.load_gltf(path, client, up_axis="y")
        assert findings(checked.issues) == findings(inspected.issues) == findings(scene.issues)
        kinds = {row["node"]: row["kind"] for row in inspected.bodies}
        assert kinds == {node: body.kind.value for node, body in scene.bodies.items()}
        assert {row["node"] for row in inspected.joints} == set(scene.joints)
        assert {row["node"] for row in inspected.statics} == set(scene.core.world.static_ids)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_the_same_for_all_three(path: Path) -> None:
    assert_alike(path)


@pytest.mark.shared
@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: str(path.relative_to(SHARED)))
def test_a_published_file_is_the_same_for_all_three(path: Path) -> None:
    assert_alike(path)
