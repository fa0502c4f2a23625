"""Which colliders overlap which trigger volumes, from arrays."""
