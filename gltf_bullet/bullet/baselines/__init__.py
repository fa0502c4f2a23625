"""The work done by hand with bare PyBullet: what ``gltf-bullet bench`` compares with."""
