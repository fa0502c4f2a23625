"""What ``gltf-bullet bench`` measures."""
