"""Tasks that live in their file: rewards, ends and actions of a behavior graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gltf_bullet.envs import EnvConfig, EventAction, GltfEnv, GltfVectorEnv, VariableAction, terms
from gltf_bullet.records import replace
from tests.runtime.test_behavior import acting
from tests.runtime.trigger_scenes import ball
from tools.graph_builder import GraphBuilder, Out


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """Each tick adds ``pace``; ``jump`` adds 10; beyond 20 it says ``full``."""
    g = GraphBuilder()
    g.variable(0, "score")
    g.variable(1, "pace")
    g.variable(0.0, "luck")
    g.variable(False, "over")
    jump, full = g.event("jump"), g.event("full", score=0)
    tick, leap = g.add("event/onTick"), g.add("event/receive", event=jump)
    score, pace = g.add("variable/get", variable=0), g.add("variable/get", variable=1)
    more = g.add("math/add", {"a": Out(score), "b": Out(pace)})
    leaped = g.add("math/add", {"a": Out(score), "b": 10})
    luck = g.add("variable/set", {"2": Out(g.add("math/random"))}, variables=[2])
    enough = g.add("flow/branch", {"condition": Out(g.add("math/gt", {"a": Out(score), "b": 20}))})
    said = g.add("event/send", {"score": Out(score)}, event=full)
    step = g.add("variable/set", {"0": Out(more)}, variables=[0])
    g._nodes[luck]["flows"] = {"out": {"node": step}}
    g._nodes[step]["flows"] = {"out": {"node": enough}}
    g.flow(tick, luck)
    over = g.add("variable/set", {"3": True}, variables=[3])
    g.flow(enough, "true", over)
    g._nodes[over]["flows"] = {"out": {"node": said}}
    g.flow(leap, g.add("variable/set", {"0": Out(leaped)}, variables=[0]))
    path = tmp_path / "task.gltf"
    path.write_bytes(acting(g, ball((0, 1, 0))))
    return path


def config(**more: object) -> EnvConfig:
    return EnvConfig(
        actions=(VariableAction(variable="pace", low=0.0, high=4.0), EventAction(event="jump")),
        rewards=(terms.Variable(variable="score", growth=True),),
        terminations=(terms.EventSent(event="full"),),
        frame_skip=1,
        up_axis="y",
        **more,  # type: ignore[arg-type]
    )


def test_the_reward_and_the_end_are_in_the_file(task: Path) -> None:
    env = GltfEnv(task, config())
    env.reset(seed=1)
    # Of 0 to 4 the middle is 2.
    _, reward, terminated, _, _ = env.step(np.array([0.0, -1.0], np.float32))
    assert (reward, terminated) == (2.0, False)
    _, reward, terminated, _, _ = env.step(np.array([1.0, 1.0], np.float32))
    assert (reward, terminated) == (14.0, False)
    _, reward, terminated, _, _ = env.step(np.array([1.0, 1.0], np.float32))
    assert (reward, terminated) == (14.0, True)
    env.reset(seed=1)
    _, reward, terminated, _, _ = env.step(np.array([-1.0, -1.0], np.float32))
    assert (reward, terminated) == (0.0, False)
    env.close()


@pytest.mark.parametrize("by_event", [True, False])
def test_an_end_of_the_graph_ends_the_step(task: Path, by_event: bool) -> None:
    # 4 ticks of 4 in a step: 16, and in the second one 20 and, beyond 20, 24, which ends it.
    end = terms.EventSent(event="full") if by_event else terms.Variable(variable="over")
    env = GltfEnv(task, replace(config(), terminations=(end,), frame_skip=4))
    env.reset(seed=1)
    most = np.array([1.0, -1.0], np.float32)
    assert env.step(most)[1:3] == (16.0, False)
    assert env.step(most)[1:3] == (8.0, True)
    # Of the step, half was made.
    assert env.scene.time == pytest.approx(6 / 240)
    env.close()


def test_chance_follows_the_seed_of_the_environment(task: Path) -> None:
    def luck(seed: int) -> list[float]:
        env = GltfEnv(task, config())
        env.reset(seed=seed)
        found = []
        for _ in range(3):
            env.step(np.zeros(2, np.float32))
            assert env.scene.behavior is not None
            found.append(env.scene.behavior.variables["luck"])
        env.close()
        return found

    assert luck(3) == luck(3)
    assert luck(3) != luck(4)
    assert len(set(luck(3))) == 3


def test_copies_have_a_graph_each(task: Path) -> None:
    env = GltfVectorEnv(task, 3, config())
    env.reset(seed=1)
    actions = np.array([[-1.0, -1.0], [0.0, -1.0], [1.0, 1.0]], np.float32)
    _, rewards, terminated, _, _ = env.step(actions)
    assert rewards.tolist() == [0.0, 2.0, 14.0]
    assert terminated.tolist() == [False, False, False]
    _, rewards, terminated, _, _ = env.step(actions)
    assert rewards.tolist() == [0.0, 2.0, 14.0]
    assert terminated.tolist() == [False, False, True]
    env.close()


def test_names_that_the_graph_lacks_are_said_at_once(task: Path) -> None:
    wrong = EnvConfig(actions=(), rewards=(terms.Variable(variable="scores"),))
    with pytest.raises(KeyError, match=r"rewards\[0\] Variable.variable: 'scores'"):
        GltfEnv(task, wrong)
    with pytest.raises(KeyError, match="'jumps' is no event"):
        GltfEnv(task, EnvConfig(actions=(EventAction(event="jumps"),)))
    document = json.loads(task.read_text())
    del document["extensions"]["KHR_interactivity"]
    task.write_text(json.dumps(document))
    with pytest.raises(KeyError, match="no behavior graph"):
        GltfEnv(task, EnvConfig(actions=(), rewards=(terms.Variable(variable="score"),)))
