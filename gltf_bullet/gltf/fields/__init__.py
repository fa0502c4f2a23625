"""Reading single members of JSON objects: type, range and default checked, findings located.

Each reader takes ``(owner, key, at, diagnostics)`` where ``at`` points to ``owner``. A missing or
wrong member gives the default, so that reading continues and finds everything in one pass. Where
the caller has something to put in the place of a wrong one, a default or words for ``instead``, the
finding is a warning that says so; else it is an error.
"""

from __future__ import annotations

from gltf_bullet.gltf.fields.findings import (
    ABSENCE_MENDED,
    INDEX_MEANS_NONE,
    INDEX_MENDED,
    INDEX_OUT_OF_RANGE,
    RANGE_MENDED,
    REFERENCE_MISSING,
    REQUIRED_MISSING,
    TYPE_MENDED,
    VALUE_NOT_ALLOWED,
    VALUE_OUT_OF_RANGE,
    WORD_MENDED,
    WRONG_TYPE,
    missing,
    out_of_range,
    wrong_index,
    wrong_type,
)
from gltf_bullet.gltf.fields.numbers import (
    NOT_UNIT_LENGTH,
    NUMBER_AS_UNLIMITED,
    NUMBER_LIMITED,
    read_number,
    read_numbers,
    read_optional_number,
    read_quaternion,
    read_size,
)
from gltf_bullet.gltf.fields.objects import (
    JsonObject,
    has_required,
    read_bool,
    read_choice,
    read_index,
    read_indices,
    read_object,
    read_objects,
    read_string,
    read_strings,
)

__all__ = [
    "ABSENCE_MENDED",
    "INDEX_MEANS_NONE",
    "INDEX_MENDED",
    "INDEX_OUT_OF_RANGE",
    "NOT_UNIT_LENGTH",
    "NUMBER_AS_UNLIMITED",
    "NUMBER_LIMITED",
    "RANGE_MENDED",
    "REFERENCE_MISSING",
    "REQUIRED_MISSING",
    "TYPE_MENDED",
    "VALUE_NOT_ALLOWED",
    "VALUE_OUT_OF_RANGE",
    "WORD_MENDED",
    "WRONG_TYPE",
    "JsonObject",
    "has_required",
    "missing",
    "out_of_range",
    "read_bool",
    "read_choice",
    "read_index",
    "read_indices",
    "read_number",
    "read_numbers",
    "read_object",
    "read_objects",
    "read_optional_number",
    "read_quaternion",
    "read_size",
    "read_string",
    "read_strings",
    "wrong_index",
    "wrong_type",
]
