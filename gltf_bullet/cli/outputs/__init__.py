"""Files that ``gltf-bullet simulate`` writes: pictures, films, plots, tables."""
