"""The glTF object model over the JSON: every pointer of the texts, its type, value and default."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from gltf_bullet.behavior.object_model import ObjectModel
from tests.behavior.json_host import JsonHost

TEXTURE = {"index": 0, "extensions": {"KHR_texture_transform": {"offset": [0.5, 0.25]}}}
SHEEN = "/materials/0/extensions/KHR_materials_sheen"
CLEARCOAT = ("clearcoatTexture", "clearcoatRoughnessTexture", "clearcoatNormalTexture")
FILE: dict[str, Any] = {
    "asset": {"version": "2.0"},
    "extensionsUsed": ["KHR_node_visibility", "KHR_node_selectability", "KHR_node_hoverability"],
    "scene": 0,
    "scenes": [{"nodes": [0]}],
    "animations": [{}],
    "cameras": [
        {"type": "perspective",
         "perspective": {"yfov": 0.7, "znear": 0.1, "zfar": 10.0, "aspectRatio": 1.5}},
        {"type": "orthographic",
         "orthographic": {"xmag": 2.0, "ymag": 3.0, "znear": 0.1, "zfar": 10.0}},
    ],
    "skins": [{"joints": [1, 2], "skeleton": 1}],
    "meshes": [{"primitives": [{"material": 0, "targets": [{}, {}]}], "weights": [0.25, 0.5]}],
    "nodes": [
        {"children": [1, 2], "translation": [1, 2, 3], "camera": 1},
        {"mesh": 0, "skin": 0, "weights": [0.75, 1.0]},
        {"matrix": [0.0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 4, 5, 6, 1],
         "extensions": {"KHR_lights_punctual": {"light": 0}, "EXT_lights_ies": {}}},
    ],
    "materials": [{
        "doubleSided": True,
        "emissiveTexture": TEXTURE, "normalTexture": {**TEXTURE, "scale": 0.5},
        "occlusionTexture": TEXTURE,
        "pbrMetallicRoughness": {"baseColorTexture": TEXTURE, "metallicRoughnessTexture": TEXTURE},
        "extensions": {
            "KHR_materials_anisotropy": {"anisotropyTexture": TEXTURE},
            "KHR_materials_clearcoat": dict.fromkeys(CLEARCOAT, TEXTURE),
            "KHR_materials_dispersion": {"dispersion": 0.1},
            "KHR_materials_emissive_strength": {}, "KHR_materials_ior": {"ior": 1.4},
            "KHR_materials_iridescence": {
                "iridescenceTexture": TEXTURE, "iridescenceThicknessTexture": TEXTURE,
            },
            "KHR_materials_sheen": {
                "sheenColorTexture": TEXTURE, "sheenRoughnessTexture": TEXTURE,
            },
            "KHR_materials_specular": {
                "specularTexture": TEXTURE, "specularColorTexture": TEXTURE,
            },
            "KHR_materials_transmission": {"transmissionTexture": TEXTURE},
            "KHR_materials_volume": {"thicknessTexture": TEXTURE},
            "ADOBE_materials_clearcoat_specular": {"clearcoatSpecularTexture": TEXTURE},
            "ADOBE_materials_clearcoat_tint": {"clearcoatTintTexture": TEXTURE},
        },
    }],
    "extensions": {
        "KHR_lights_punctual": {"lights": [{"type": "spot", "spot": {}}]},
        "EXT_lights_image_based": {"lights": [{}]}, "EXT_lights_ies": {"lights": []},
    },
}  # fmt: skip
SPECS = Path(__file__).parents[3] / "shared" / "specs"


@pytest.mark.parametrize(
    ("pointer", "kind", "value", "is_mutable"),
    [
        ("/nodes.length", "int", 3, False),
        ("/nodes/1/weights.length", "int", 2, False),
        ("/nodes/0/weights.length", "int", 0, False),
        ("/nodes/1/weights/1", "float", 1.0, True),
        ("/nodes/0/translation", "float3", (1.0, 2.0, 3.0), True),
        ("/nodes/1/rotation", "float4", (0.0, 0.0, 0.0, 1.0), True),
        ("/nodes/2/translation", "float3", (4.0, 5.0, 6.0), True),
        ("/nodes/2/parent", "int", 0, False),
        ("/nodes/0/children/1", "int", 2, False),
        ("/scene", "int", 0, False),
        ("/skins/0/joints/1", "int", 2, False),
        ("/cameras/0/perspective/yfov", "float", 0.7, True),
        ("/materials/0/normalTexture/scale", "float", 0.5, True),
        ("/materials/0/pbrMetallicRoughness/baseColorFactor", "float4", (1.0,) * 4, True),
        ("/materials/0/extensions/KHR_materials_ior/ior", "float", 1.4, True),
        (
            "/materials/0/extensions/KHR_materials_sheen/sheenColorFactor",
            "float3",
            (0.0,) * 3,
            True,
        ),
        ("/nodes/1/extensions/KHR_node_visibility/visible", "bool", True, True),
        ("/extensions/KHR_interactivity/asset/majorVersion", "int", 2, False),
    ],
)
def test_properties_have_the_values_of_the_file_or_their_defaults(
    pointer: str, kind: str, value: Any, is_mutable: bool
) -> None:
    found = ObjectModel(FILE).find(pointer)
    assert found is not None
    assert (found.kind, found.value, found.is_mutable) == (kind, value, is_mutable)


@pytest.mark.parametrize(
    "pointer",
    [
        "", "/", "/nodes", "/nodes/3/translation", "/nodes/01/translation", "/nodes/-1/scale",
        "/nodes/2/rotation", "/nodes/2/scale", "/nodes/0/parent", "/nodes/1/weights/2",
        "/nodes/0/mesh", "/nodes/0/children/2", "/cameras/0/orthographic/xmag",
        "/materials/1/alphaCutoff", "/materials/0/color", "/nodes/1/weights", "/skins/1/skeleton",
        "/extensions/KHR_interactivity/asset/extensions/VND_odd/enabled",
    ],
)  # fmt: skip
def test_there_is_nothing_else(pointer: str) -> None:
    assert ObjectModel(FILE).find(pointer) is None


def pointers_of_the_text() -> list[tuple[str, str]]:
    path = SPECS / "glTF_ObjectModel.adoc"
    if not path.exists():
        return []
    rows = re.findall(r"^\| `(/[^`]+)`\s*\|\s*`([^`]+)`", path.read_text("utf-8"), re.MULTILINE)
    return [(pointer, kind) for pointer, kind in rows if kind != "float[]"]


@pytest.mark.shared
@pytest.mark.parametrize(("template", "kind"), pointers_of_the_text())
def test_every_pointer_of_the_text_is_known(template: str, kind: str) -> None:
    host = JsonHost(FILE)
    for numbers in ((0, 0), (1, 0), (2, 0)):
        pointer = template
        for number in numbers:
            pointer = pointer.replace("{}", str(number), 1)
        found = host.find(pointer)
        if found is not None:
            assert found.kind == kind
            assert found.get() is not None
            return
    pytest.fail(f"{template} is unknown")


def test_matrices_follow_what_is_set() -> None:
    host = JsonHost(FILE)
    turn = host.find("/nodes/0/rotation")
    whole = host.find("/nodes/2/globalMatrix")
    assert turn is not None
    assert turn.set is not None
    assert whole is not None
    turn.set((0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    # (4, 5, 6) turned by a quarter about Z, from (1, 2, 3).
    value = whole.get()
    assert isinstance(value, tuple)
    assert value[12:15] == pytest.approx((1.0 - 5.0, 2.0 + 4.0, 3.0 + 6.0))
