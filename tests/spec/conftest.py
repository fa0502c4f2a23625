"""Fixtures of the spec suite."""

from __future__ import annotations

import pytest

from tests.spec.files import REVISIONS, Khr


@pytest.fixture(params=REVISIONS)
def khr(request: pytest.FixtureRequest) -> Khr:
    """A writer in the words of each of the two texts of KHR_physics_rigid_bodies."""
    return Khr(request.param)
