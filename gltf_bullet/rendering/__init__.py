"""Contents of pictures without the engine: meshes, texture atlases, paints, cameras."""
