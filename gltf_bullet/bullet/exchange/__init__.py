"""Numbers between the engine and the kernels: by PyBullet's calls, or by its library's own."""
