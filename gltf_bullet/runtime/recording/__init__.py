"""What moved, written down: scenes and whole worlds as animated glTF files."""
