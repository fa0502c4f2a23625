"""The work done by hand with bare PyBullet: what ``python -m tools.bench`` compares with."""
