"""Random sequences of calls in forked children with limits; seeds are in the failure.

``python -m tools.fuzz --calls 2000`` tries others; ``--calls 1 --seed SEED --only NUMBER`` tries
one of them again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.trust.campaigns import run_apart
from tools.fuzz import warm_up
from tools.fuzzing.calls import run_calls

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")

RUNS = [("1", 50), *(pytest.param(seed, 100, marks=pytest.mark.slow) for seed in "23")]
"""Seeds and how many sequences of each."""
FOUND = ("b/1164", "b/1044", "b/657", "b/3031", "b/3850", "b/1682")
"""Sequences that broke a promise once: scenes beside one that had lost a body, bodies put nowhere,
``after_step`` before any other call."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLTF_BULLET_CACHE", str(tmp_path))
    warm_up()


@pytest.mark.parametrize(("seed", "count"), RUNS)
def test_no_sequence_of_calls_breaks_a_promise(kept: None, seed: str, count: int) -> None:
    good, failed = run_apart("calls", seed, count)
    assert not failed, f"seed {seed}: {failed}"
    assert sum(good.values()) == count
    # Else all worlds would be dead from the start.
    assert count - good.get("0 scenes left", 0) > count // 2


@pytest.mark.parametrize("seed", FOUND)
def test_sequences_that_broke_one_before(kept: None, seed: str) -> None:
    run_calls(seed, plain=True)
