"""The solve of the joints of scenes: what touches, one step, many scenes at once."""
