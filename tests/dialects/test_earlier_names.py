"""Extensions under the names of their first drafts."""

from __future__ import annotations

from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.earlier_names import EXTENSION_EARLIER_NAME, with_present_names

NAMES = {"OLD_thing": "KHR_thing"}


def test_all_places_are_renamed_and_said_once(diagnostics: Diagnostics) -> None:
    def file(name: str) -> dict[str, Any]:
        target = {
            "extensions": {"KHR_animation_pointer": {"pointer": f"/nodes/0/extensions/{name}/x"}}
        }
        return {
            "extensionsUsed": ["KHR_other", name],
            "extensionsRequired": [name],
            "extensions": {
                name: {"table": [1]},
                "KHR_other": {"shapes": [{"type": "mesh", "extensions": {name: {"x": 3}}}, 4]},
            },
            "nodes": [{"extensions": {name: {"x": 2}}}, {"name": "plain"}],
            "animations": [{"channels": [{"sampler": 0, "target": target}]}],
        }

    assert with_present_names(file("OLD_thing"), diagnostics, NAMES) == file("KHR_thing")
    issue = diagnostics.take(EXTENSION_EARLIER_NAME)
    assert issue.values == {"got": "OLD_thing", "present": "KHR_thing"}


def test_a_file_without_them_stays_the_same_object(diagnostics: Diagnostics) -> None:
    root = {"extensionsUsed": ["KHR_thing"], "nodes": [{"extensions": {"KHR_thing": {}}}]}
    assert with_present_names(root, diagnostics, NAMES) is root


def test_the_present_one_wins_where_both_stand(diagnostics: Diagnostics) -> None:
    root = {"nodes": [{"extensions": {"OLD_thing": {"x": 1}, "KHR_thing": {"x": 2}}}]}
    (node,) = with_present_names(root, diagnostics, NAMES)["nodes"]
    assert node["extensions"]["KHR_thing"] == {"x": 2}
    diagnostics.take(EXTENSION_EARLIER_NAME)


@pytest.mark.parametrize(
    "junk", [None, 3, "OLD_thing", [None], {"OLD_thing": None}, [["OLD_thing"]]]
)
def test_junk_stays_junk(diagnostics: Diagnostics, junk: Any) -> None:
    root = dict.fromkeys(
        ("extensionsUsed", "extensionsRequired", "extensions", "nodes", "animations"), junk
    )
    with_present_names(root, diagnostics, NAMES)
    if diagnostics.issues:
        diagnostics.take(EXTENSION_EARLIER_NAME)
