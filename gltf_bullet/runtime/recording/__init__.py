"""Recordings of scenes and whole worlds as animated glTF files."""
