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
