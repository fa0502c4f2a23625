"""MJCF as MuJoCo compiles it: its model, as a description of a world.

``files`` makes a text that names only what it may, ``compiling`` has MuJoCo compile it in a child
process, ``model`` is the result as arrays, and ``world`` puts together what the other modules say
of bodies, joints, geoms, actuators and equalities. ``losses`` names what glTF cannot say.
"""
