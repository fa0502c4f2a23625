"""What kernels say of a step fits into one number: no two things are one bit."""

from __future__ import annotations

from gltf_bullet.solver import outcomes


def test_each_outcome_has_a_bit_of_its_own() -> None:
    """Two once had one: a limb that was thrown passed for a trigger that had watched."""
    together = {"NOT_MADE", "OVER"}
    bits = [v for name, v in vars(outcomes).items() if name.isupper() and name not in together]
    assert len(bits) > 10
    assert all(bit > 0 and bit & (bit - 1) == 0 for bit in bits)
    assert len(set(bits)) == len(bits)
