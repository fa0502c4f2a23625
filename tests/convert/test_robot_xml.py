"""XML of robots: what PyBullet forgives is forgiven, nothing is resolved, all has a place."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.robot_xml import Edit, XmlError, edited, escaped, parse_xml

ROBOT = '<robot name="r">{}<link name="a"/></robot>'
FORGIVEN = (
    ROBOT.format("<!-- a -- b -->"),
    ROBOT.format("<xacro:nothing/>"),
    ROBOT.format("<![CDATA[ <link/> ]]>"),
    ROBOT.format("").replace('"r"', '"r&nowhere;<"'),
    ROBOT.format("<foo a='1'b=\"2\"/>"),
    "  <?xml version='1.0'?>" + ROBOT.format(""),
    ROBOT.format("") + ROBOT.format(""),
)
REFUSED = (
    (ROBOT.format("</foo>"), "</foo>; must be </robot>"),
    (ROBOT.format("").replace("</robot>", ""), "<robot> is not closed"),
    (ROBOT.format("").replace('"r"', "r"), "<robot> with"),
    (ROBOT.format("").replace('name="r"', 'name="r" name="s"'), "name twice"),
    (ROBOT.format("<!-- "), "without end"),
)


@pytest.mark.parametrize("text", FORGIVEN)
def test_what_pybullet_forgives_is_forgiven(text: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with headless_world() as client:
        assert pybullet.loadURDF(str(path), physicsClientId=client) == 0
    root = parse_xml(text)
    assert root is not None
    assert [link.name for link in root.named("link")] == ["a"]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_pybullet_refuses_is_refused_with_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with headless_world() as client, pytest.raises(pybullet.error):
        pybullet.loadURDF(str(path), physicsClientId=client)
    with pytest.raises(XmlError, match="line 3: ") as caught:
        parse_xml("\n\n" + text)
    assert message in str(caught.value)


def test_known_entities_are_resolved_and_no_others() -> None:
    bomb = '<!DOCTYPE r [<!ENTITY b "bbbb">]><r name="a&amp;b&#65;&#x42;&b;&lt;">&quot;&b;</r>'
    root = parse_xml(bomb)
    assert root is not None
    assert root.name == "a&bAB&b;<"
    assert root.text == '"&b;'
    assert escaped('a&b<"') == "a&amp;b&lt;&quot;"


def test_places_are_those_of_the_text() -> None:
    text = "<a>\n  <b c='x y'/>\n  <d> words </d></a>"
    root = parse_xml(text)
    assert root is not None
    b, d = root.children
    assert (b.line, d.line) == (2, 3)
    assert text[b.start : b.end] == "<b c='x y'/>"
    _, start, end = b.attributes["c"]
    assert text[start:end] == "x y"
    assert (text[d.start : d.end], text[d.text_start : d.text_end]) == ("<d> words </d>", "words")


def test_an_edit_within_what_another_takes_out_is_void() -> None:
    assert edited("0123456789", [Edit(8, 9, "x"), Edit(3, 5, "y"), Edit(2, 6)]) == "0167x9"


def test_no_element_is_none() -> None:
    assert parse_xml("words <!-- only -->") is None
