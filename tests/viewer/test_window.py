"""Camera geometry, and what happens where no window can be opened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.viewer.program import ALPHA, XRay
from gltf_bullet.viewer.window import SLOPE, framing_distance, unproject
from tests.physics.scenes import bodies_in

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def test_a_point_before_a_pixel_is_seen_at_that_pixel() -> None:
    size = (800, 600)
    view = pybullet.computeViewMatrix([3, -4, 2], [0.5, 0.2, 1.0], [0, 0, 1])
    projection = pybullet.computeProjectionMatrixFOV(60, size[0] / size[1], 0.01, 1000)
    pixels = np.array([[10.0, 20.0], [400.0, 300.0], [790.0, 580.0]])
    points = unproject(pixels, size, view, projection)
    clip_from_world = np.reshape(projection, (4, 4)).T @ np.reshape(view, (4, 4)).T
    clip = np.c_[points, np.ones(3)] @ clip_from_world.T
    ndc = clip[:, :3] / clip[:, 3:]
    np.testing.assert_allclose((ndc[:, 0] + 1.0) / 2.0 * size[0], pixels[:, 0], atol=1e-6)
    np.testing.assert_allclose((1.0 - ndc[:, 1]) / 2.0 * size[1], pixels[:, 1], atol=1e-6)
    assert (clip[:, 3] > 0.1).all()  # before the camera, and not too close


@pytest.mark.parametrize("half", [(1.0, 1.0, 1.0), (5.0, 0.1, 0.1), (0.1, 0.1, 8.0)])
@pytest.mark.parametrize("aspect", [0.5, 1.0, 1.8])
def test_all_of_a_framed_box_is_in_the_picture(half: tuple[float, ...], aspect: float) -> None:
    forward = np.array([-0.5, 0.7, -0.4])
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    distance = framing_distance(np.array(half), forward, up, aspect)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    seen = signs * half + distance * forward  # from the eye
    depth = seen @ forward
    assert (depth > 0.0).all()
    fill = np.maximum(np.abs(seen @ up), np.abs(seen @ right) / aspect) / depth / SLOPE
    assert 0.6 < fill.max() <= 1.0


@pytest.mark.parametrize("display", [None, ":987654"])
def test_without_a_display_it_says_what_works(display: str | None) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    if display is not None:
        environment["DISPLAY"] = display
    result = subprocess.run(
        [sys.executable, "-m", "gltf_bullet", "view", str(ASSETS / "falling_box.gltf")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2
    assert "\nerror: " in result.stderr  # after PyBullet's own greeting
    assert "xvfb-run" in result.stderr
    assert "simulate FILE --png" in result.stderr
    assert "Traceback" not in result.stderr


def test_x_ray_gives_every_colour_back() -> None:
    with headless_world() as client:
        options = gb.LoadOptions(visuals="collider")
        gb.load_gltf(ASSETS / "hinge_door.gltf", client, options=options)

        def colors() -> np.ndarray:
            return np.array(
                [
                    shape[7]
                    for body in bodies_in(client)
                    for shape in pybullet.getVisualShapeData(body, physicsClientId=client)
                ]
            )

        before = colors()
        assert len(before)
        xray = XRay(client)
        assert xray.toggle()
        np.testing.assert_allclose(colors()[:, 3], ALPHA * before[:, 3])
        np.testing.assert_allclose(colors()[:, :3], before[:, :3])
        assert not xray.toggle()
        np.testing.assert_allclose(colors(), before)
