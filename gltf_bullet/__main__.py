"""``python -m gltf_bullet``: the command ``gltf-bullet``."""

from gltf_bullet.cli import main

if __name__ == "__main__":
    main()
