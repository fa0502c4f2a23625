"""The garbage collector while values are made that stay."""

from __future__ import annotations

import gc

import pytest

from gltf_bullet.collection import no_collection


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_collected_before_the_caller_goes_on(fails: bool) -> None:
    started: list[str] = []

    def note(phase: str, _: object) -> None:
        started.append(phase)

    gc.callbacks.append(note)
    try:
        kept = []
        try:
            with no_collection():
                kept += [[] for _ in range(10 * gc.get_threshold()[0])]
                if fails:
                    raise KeyError
        except KeyError:
            pass
        else:  # an exception is a value to be collected itself
            assert not started
        kept += [[] for _ in range(10)]
        assert started  # put off, not left out
    finally:
        gc.callbacks.remove(note)


def test_who_has_it_off_keeps_it_off() -> None:
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collection(), no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    with no_collection(), no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
