"""The parts of a scene for users: nodes, bodies, joints, triggers, pictures, exports."""
