"""What a picture needs, without the engine: meshes, atlases, paints, cameras."""
