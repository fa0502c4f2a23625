"""Scripts for people who work on gltf_bullet; nothing here is installed."""
