"""The committed example assets are what the tool writes, and they have no error."""

from __future__ import annotations

from pathlib import Path

import pytest

import gltf_bullet as gb
from tools.make_behavior_examples import BEHAVIOR_EXAMPLES, write_behavior_examples
from tools.make_contact_examples import CONTACT_EXAMPLES, write_contact_examples
from tools.make_examples import EXAMPLES, FOLDER, write_examples
from tools.make_joint_examples import JOINT_EXAMPLES, write_joint_examples
from tools.make_training_assets import TRAINING_ASSETS, write_training_assets
from tools.make_trigger_examples import TRIGGER_EXAMPLES, write_trigger_examples
from tools.make_visual_examples import VISUAL_EXAMPLES, write_visual_examples

BY_HAND = "swing_up.gltf"
"""No tool writes it: it shows what a file written by hand looks like."""


def test_the_committed_assets_are_what_the_tool_writes(tmp_path: Path) -> None:
    written = [
        *write_behavior_examples(tmp_path),
        *write_contact_examples(tmp_path),
        *write_examples(tmp_path),
        *write_joint_examples(tmp_path),
        *write_training_assets(tmp_path),
        *write_trigger_examples(tmp_path),
        *write_visual_examples(tmp_path),
    ]
    names = {path.name for path in written}
    assert {path.name for path in FOLDER.glob("*.gltf")} == names | {BY_HAND}
    for path in written:
        assert path.read_text() == (FOLDER / path.name).read_text(), (
            f"{path.name} differs: run the tool that writes it, tools/make_*examples.py"
        )


@pytest.mark.parametrize(
    "name",
    [
        *BEHAVIOR_EXAMPLES,
        *CONTACT_EXAMPLES,
        *EXAMPLES,
        *JOINT_EXAMPLES,
        *TRAINING_ASSETS,
        *TRIGGER_EXAMPLES,
        *VISUAL_EXAMPLES,
    ],
)
def test_an_example_asset_has_nothing_wrong(name: str) -> None:
    report = gb.check(FOLDER / f"{name}.gltf")
    assert report.is_usable
    expected = {
        "bouncing_balls": {"SLOW_BOUNCE"},
        "filter_gallery": {"SYSTEM_OF_NOBODY"},  # by name: it shows what meets nothing
        "hinge_door": {"JOINT_TAKES_VELOCITY"},  # its edge is pushed, and the hinge makes it a turn
        "ragdoll": {"JOINT_TAKES_VELOCITY"},
        "rope": {"LOAD_ON_LIGHT_LINK"},
        "shape_zoo": {"BOX_AS_HULL", "ROUND_SHAPE_APPROXIMATED"},
        "four_bar": {"JOINT_LOOP_CLOSED"},
        "suspension_bridge": {"JOINT_LOOP_CLOSED"},
    }
    assert {issue.code for issue in report.issues} == expected.get(name, set())
