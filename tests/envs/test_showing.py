"""Curves and episodes are written as files that other programs read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageSequence

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.envs import GltfEnv, write_curve, write_episode
from gltf_bullet.records import replace
from tests.envs.assets import REACH, REACHER

STILL = replace(REACH, randomization={}, frame_skip=24, terminations=())


class Sweep:
    """Turns the arm one way; counts from every reset on."""

    def __init__(self) -> None:
        self.asked = 99

    def reset(self) -> None:
        self.asked = 0

    def __call__(self, observed: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        assert observed.shape == (11,)
        self.asked += 1
        return np.array([1.0, 0.0], np.float32)


def test_an_episode_is_a_film_and_an_animation(tmp_path: Path) -> None:
    env, policy = GltfEnv(REACHER, STILL), Sweep()
    rollout = write_episode(env, policy, tmp_path / "new" / "reach", fps=10, size=(120, 90))
    env.close()
    # 30 steps of a tenth of a second, and the start.
    assert (len(rollout), policy.asked) == (30, 30)
    with Image.open(tmp_path / "new" / "reach.gif") as film:
        assert film.size == (120, 90)
        # Equal pictures, as of the arm at its limit, are one that lasts longer.
        lasting = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
        assert sum(lasting) == 31 * 100
        film.seek(0)
        first = np.asarray(film.convert("RGB"), dtype=float)
        film.seek(12)
        later = np.asarray(film.convert("RGB"), dtype=float)
        assert np.abs(later - first).mean() > 1.0
        # The camera stands still: the border, where nothing moves, stays as it is.
        assert np.abs(later - first)[:, [0, -1]].max() < 32.0
    asset = gb.read_asset(tmp_path / "new" / "reach.glb")
    (animation,) = asset.animations
    arm = asset.tree.names.index("UpperArm")
    assert {track.node for track in animation.tracks} >= {arm}
    assert max(track.times[-1] for track in animation.tracks) == pytest.approx(3.0, abs=1e-5)


def test_the_episode_that_is_shown_is_the_one_that_was_played(tmp_path: Path) -> None:
    """A policy that remembers, and has no ``reset``, is asked once per step."""
    env, actions = GltfEnv(REACHER, STILL), []

    def remembering(_: object) -> npt.NDArray[np.float32]:
        actions.append(np.array([0.0 if len(actions) < 15 else 1.0, 0.0], np.float32))
        return actions[-1]

    write_episode(env, remembering, tmp_path / "reach", fps=10, size=(120, 90))
    assert len(actions) == 30
    with headless_world() as client:
        played = gb.load_gltf(tmp_path / "reach.glb", client)
        played.animations["Episode"].loop = False
        played.step(720)
        shown = played.world_from_node("UpperArm")
    assert shown == pytest.approx(env.scene.world_from_node("UpperArm"), abs=2e-3)
    env.close()


def test_a_wrapped_environment_is_shown_through_its_wrappers(tmp_path: Path) -> None:
    inner = GltfEnv(REACHER, replace(STILL, max_episode_steps=None))
    env = gymnasium.wrappers.TimeLimit(gymnasium.wrappers.ClipAction(inner), 5)
    rollout = write_episode(env, Sweep(), tmp_path / "reach", size=(64, 48), html=True)
    assert len(rollout) == 5
    with Image.open(tmp_path / "reach.gif") as film:
        assert film.size == (64, 48)
    assert "__VISER_EMBED_DATA__" in (tmp_path / "reach.html").read_text()
    env.close()
    with pytest.raises(TypeError, match="must be a GltfEnv"):
        write_episode(gymnasium.make("CartPole-v1"), Sweep(), tmp_path / "cart")


def test_a_curve_is_a_picture(tmp_path: Path) -> None:
    write_curve(tmp_path / "flat.png", [0, 1, 2], [1.0, 1.0, 1.0])
    write_curve(tmp_path / "steep.png", [0, 1, 2], [0.0, 5.0, 50.0], steps_are="round", title="X")
    pictures = [np.asarray(Image.open(tmp_path / f"{n}.png")) for n in ("flat", "steep")]
    assert pictures[0].shape[:2] == pictures[1].shape[:2] == (540, 960)
    assert (pictures[0] != pictures[1]).any()


def test_without_matplotlib_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'gltf_bullet\[train\]'"):
        write_curve(tmp_path / "x.png", [0], [0.0])


def test_without_ray_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from gltf_bullet.envs import RolloutPool

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'gltf_bullet\[ray\]'"):
        RolloutPool(REACHER, REACH)


def test_without_gymnasium_the_command_is_named() -> None:
    hidden = "import sys; sys.modules['gymnasium'] = None; import gltf_bullet.envs"
    done = subprocess.run(
        [sys.executable, "-c", hidden], capture_output=True, text=True, timeout=120
    )
    assert "pip install 'gltf_bullet[gym]'" in done.stderr
