"""Room 2: bytes to typed, dialect-free content."""

from gltf_bullet.gltf.document import AssetSource, Document, ReadLimits, read_document

__all__ = ["AssetSource", "Document", "ReadLimits", "read_document"]
