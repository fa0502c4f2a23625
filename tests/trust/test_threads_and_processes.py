"""Several threads, forked and spawned processes, and Ctrl-C in the middle of long work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.world_lock import world_lock

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
CART_POLE = str(ASSETS / "cart_pole.gltf")


def test_two_threads_in_one_client_work_or_get_a_typed_error(client: int) -> None:
    foreign: list[BaseException] = []
    old = sys.getswitchinterval()

    def use(number: int) -> None:
        try:
            for _ in range(6):
                scene = gb.load_gltf(CART_POLE, client, position=(0.0, 5.0 * number, 0.0))
                scene.step(15)
                scene.node_matrices.copy()
                scene.remove()
        except gb.GltfBulletError:
            pass
        except BaseException as error:
            foreign.append(error)

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=use, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(old)
    assert not foreign, foreign


def test_two_first_looks_do_not_wait_for_each_other(client: int) -> None:
    """Python's own lock of a ``cached_property``, one for all scenes, came before the world's."""
    one, other = (gb.load_gltf(CART_POLE, client) for _ in range(2))
    looks = threading.Thread(target=lambda: one.bodies, daemon=True)

    def look_with_the_lock() -> None:
        with world_lock(client):
            looks.start()
            time.sleep(0.1)  # the first thread waits for the world by now
            assert other.bodies

    holds = threading.Thread(target=look_with_the_lock, daemon=True)
    holds.start()
    for thread in (holds, looks):
        thread.join(60.0)
        assert not thread.is_alive()
    assert one.bodies is one.bodies


FORKS = """
import faulthandler, itertools, os, pathlib, sys, threading, time
import pybullet
import gltf_bullet as gb

assets = pathlib.Path(sys.argv[1])
here, there = pybullet.connect(pybullet.DIRECT), pybullet.connect(pybullet.DIRECT)
kept = gb.load_gltf(assets / "hinge_door.gltf", here)
kept.step()
sys.setswitchinterval(1e-5)


def work() -> None:
    for name in itertools.cycle(("ragdoll", "hinge_door", "goal_line", "cart_pole")):
        scene = gb.load_gltf(assets / f"{name}.gltf", there)
        scene.step()
        scene.bodies, scene.joints, scene.triggers
        scene.remove()


threading.Thread(target=work, daemon=True).start()
for k in range(40):
    time.sleep(0.003 * (k % 7))
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(60.0, exit=True)
        try:
            scene = gb.load_gltf(assets / "ragdoll.gltf", pybullet.connect(pybullet.DIRECT))
            scene.step(3)
            kept.step()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"fork {k}")
print("done", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_finds_no_lock_that_another_thread_held() -> None:
    """One of ten waited for ever at a ``cached_property``."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(ASSETS)], capture_output=True, text=True, check=False
    )
    assert done.stdout.rstrip().endswith("done"), done.stderr[-3000:]


def test_no_cached_property_has_a_lock() -> None:
    package = Path(gb.__file__).parent
    users = [p for p in package.rglob("*.py") if "functools import cached" in p.read_text("utf-8")]
    assert not users


def stepped(path: str) -> bytes:
    """What a process of its own computes."""
    client_id = pybullet.connect(pybullet.DIRECT)
    try:
        scene = gb.load_gltf(path, client_id)
        scene.step(30)
        return scene.node_matrices.tobytes()
    finally:
        pybullet.disconnect(client_id)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_or_spawned_process_computes_the_same(method: str) -> None:
    here = stepped(CART_POLE)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(stepped, (CART_POLE,)) == here


def test_an_asset_travels_to_another_process(client: int) -> None:
    asset = gb.read_asset(CART_POLE)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(read_there, (asset,)) == len(asset.tree)


def read_there(asset: gb.Asset) -> int:
    client_id = pybullet.connect(pybullet.DIRECT)
    try:
        return len(asset.instantiate(client_id).nodes)
    finally:
        pybullet.disconnect(client_id)


LONG_WORK = """
import signal, sys
import pybullet
import gltf_bullet as gb
signal.signal(signal.SIGALRM, signal.default_int_handler)  # as Ctrl-C, from the clock
client = pybullet.connect(pybullet.DIRECT)
asset = gb.read_asset(sys.argv[1])
first = asset.instantiate(client)
first.step(2)
bodies = pybullet.getNumBodies(client)
for delay in [0.0005 * k for k in range(1, 25)]:
    try:
        # Once more now and then: Python drops what is raised while it drops an object.
        signal.setitimer(signal.ITIMER_REAL, delay, 0.5)
        while True:
            asset.instantiate(client, position=(0, 5, 0)).remove()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    first.step(2)
print("left", pybullet.getNumBodies(client) - bodies)
"""


def test_ctrl_c_during_loads_leaves_a_world_that_goes_on() -> None:
    """What is left: a body that the engine was making at that moment, a scene on its way out."""
    result = subprocess.run(
        [sys.executable, "-c", LONG_WORK, CART_POLE],
        capture_output=True,
        text=True,
        check=False,
        timeout=300.0,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert int(result.stdout.rsplit("left", 1)[1]) <= 24


def test_ctrl_c_ends_a_step_between_two(client: int) -> None:
    # A job in the background of a shell ignores it, and would step for hours.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    scene = gb.load_gltf(CART_POLE, client)
    scene.step()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            scene.step(10**7)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert np.isfinite(scene.node_matrices).all()
    scene.step(5)
    scene.remove()
    assert pybullet.getNumBodies(client) == 0
