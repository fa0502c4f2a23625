"""Notebook views of our objects: tables, pictures, players. They never raise."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gltf_bullet.bullet.rendering.pictures import PixelArray, png_of
from gltf_bullet.diagnostics import Issue
from gltf_bullet.errors import GltfBulletError

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene_core import SceneCore
    from gltf_bullet.runtime.views.bodies import Body
    from gltf_bullet.runtime.views.pictures import Pictures

PLAYER_HEIGHT = 420
"""Height of a player [pixels]."""
PICTURE = (480, 300)
"""Width and height of a picture [pixels]."""
MOST_ROWS = 20
"""Largest number of bodies in a table."""


def _picture_tag(pixels: PixelArray) -> str:
    """Return an ``img`` element that contains its picture."""
    return f'<img src="data:image/png;base64,{base64.b64encode(png_of(pixels)).decode()}">'


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; every cell is escaped text."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def issue_table(issues: Iterable[Issue]) -> str:
    """Return a table of issues, errors first."""
    rows = [
        (issue.meaning, issue.code, issue.where, issue.message)
        for issue in sorted(issues, key=lambda issue: issue.severity)
    ]
    if not rows:
        return "<p>No issues: everything is exact.</p>"
    return _table(("", "Code", "Where", "What"), rows)


def framed_page(page: str) -> str:
    """Return a whole page as a frame of another one."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" '
        f'height="{PLAYER_HEIGHT}" style="border:1px solid #ddd"></iframe>'
    )


def scene_page(core: SceneCore, pictures: Pictures, bodies: Mapping[int, Body]) -> str:
    """Return a picture if bodies show anything, and tables of the scene's contents.

    Args:
        core: The scene.
        pictures: Pictures of the scene.
        bodies: Bodies of the scene.
    """
    head = f"<b>{html.escape(core.asset.path)}</b>"
    try:
        core.require_alive()
        parts = [f"<p>{head} at {core.time:.3f} s</p>"]
        if core.options.visuals == "collider" or core.world.shown:
            parts.append(_picture_tag(pictures.rgb(size=PICTURE, shadows=True)))
        parts.append(_body_table(core, bodies))
    except GltfBulletError as error:
        return f"<p>{head}: {html.escape(str(error))}</p>"
    counts = {"joints": len(core.joint_controls.joint_nodes)}
    counts["triggers"] = len(core.world.plan.triggers.nodes)
    counted = [f"{count} {what}" for what, count in counts.items() if count]
    if counted:
        parts.append(f"<p>{', '.join(counted)}</p>")
    return "".join([*parts, issue_table(core.issues)])


def _body_table(core: SceneCore, bodies: Mapping[int, Body]) -> str:
    places = core.nodes.world_from_node[:, :3, 3]
    rows = [
        (
            node, body.name, body.kind.value, f"{body.mass:.4g}",
            " ".join(f"{x + 0.0:.3f}" for x in places[node].round(3)),
        )
        for node, body in list(bodies.items())[:MOST_ROWS]
    ]  # fmt: skip
    found = _table(("Node", "Body", "Kind", "Mass [kg]", "Position [m]"), rows)
    more = len(bodies) - len(rows)
    return f"{found}<p>and {more} more bodies</p>" if more else found
