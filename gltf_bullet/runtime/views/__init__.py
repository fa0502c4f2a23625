"""What users hold of a running scene: nodes, bodies, joints, triggers, pictures, recordings."""
