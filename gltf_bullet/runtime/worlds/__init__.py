"""Export of whole worlds, with scenes among their bodies, into a file."""
