"""XML of robots: what PyBullet forgives is forgiven, nothing is resolved, all has a place."""

from __future__ import annotations

from pathlib import Path

import pybullet
import pytest

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.robot_xml import XmlError, escaped, parse_xml, written

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


def test_places_are_lines() -> None:
    root = parse_xml("<a>\n  <b c='x y'/>\n  <d> words </d></a>")
    assert root is not None
    b, d = root.children
    assert (b.line, d.line, b.get("c"), d.text) == (2, 3, "x y", "words")


TRICKS = (
    "<!--> <![CDATA[ --> <link name='hidden'/> <!-- ]]> -->",
    "<![CDATA[ <!-- ]]> <link name='hidden'/> <!-- --> <![CDATA[ ]]>",
    "<?a <!-- ?> <link name='hidden'/> <?b --> ?>",
    "<!b <!-- > <link name='hidden'/> <!-- -->",
    "<c d='<!-- &lt;link/>'/> <link name='hidden'/> <c d='-->'/>",
)


@pytest.mark.parametrize("trick", TRICKS)
def test_an_engine_sees_the_elements_that_were_read_and_no_others(
    trick: str, tmp_path: Path
) -> None:
    root = parse_xml(ROBOT.format(trick.replace("<link", "<link ")))
    assert root is not None
    text = written(root)
    assert not any(word in text for word in ("<!", "<?", "]]>"))
    again = parse_xml(text)
    assert again is not None
    assert written(again) == text
    joint = "<joint name='j' type='fixed'><parent link='a'/><child link='hidden'/></joint>"
    is_read = "hidden" in text
    path = tmp_path / "robot.urdf"
    path.write_text(text.replace("</robot>", (joint if is_read else "") + "</robot>"))
    with headless_world() as client:
        body = pybullet.loadURDF(str(path), physicsClientId=client)
        assert pybullet.getNumJoints(body, physicsClientId=client) == is_read


def test_names_are_those_that_the_engine_takes_so_that_none_begins_a_comment() -> None:
    with pytest.raises(XmlError, match="<name"):
        parse_xml("<a>< !-- b='c'/></a>")
    with pytest.raises(XmlError, match="character 0"):
        parse_xml("<a>\0</a>")


def test_an_element_that_is_left_out_takes_those_below_with_it() -> None:
    root = parse_xml("<a b='&lt;&quot;'><c><d/></c> text </a>")
    assert root is not None
    root.children[0].is_left_out = True
    assert written(root) == '<a b="&lt;&quot;">\n</a>'


def test_half_of_a_character_stays_an_unknown_entity() -> None:
    root = parse_xml("<a b='&#xD800;'/>")
    assert root is not None
    assert written(root) == '<a b="&amp;#xD800;"/>'


def test_no_element_is_none() -> None:
    assert parse_xml("words <!-- only -->") is None
