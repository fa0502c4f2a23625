"""Bodies in the engine: creation, poses, velocities, forces of the coming step."""
