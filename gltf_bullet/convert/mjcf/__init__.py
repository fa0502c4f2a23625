"""MJCF, compiled by MuJoCo, as a description of a world.

``files`` makes a text that names only permitted files, ``compiling`` has MuJoCo compile it in a
child process, ``model`` is the result as arrays, and ``world`` combines the bodies, joints, geoms,
actuators and equalities that the other modules describe. ``losses`` reports what glTF lacks.
"""
