"""Every rule of "Validation": what is wrong is named with its place, and the graph is not run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.behavior.findings import MOST
from gltf_bullet.behavior.preparing import Preparation
from gltf_bullet.behavior.reading import read_graphs
from gltf_bullet.behavior.running import Behavior
from gltf_bullet.diagnostics import Diagnostics
from tests.behavior.graphs import findings, outputs, read
from tests.behavior.json_host import JsonHost
from tools.graph_builder import GraphBuilder, Out, Typed

WRONG, UNSUPPORTED = "BEHAVIOR_INVALID", "BEHAVIOR_UNSUPPORTED"
DEFAULTED, EARLIER = "BEHAVIOR_CONFIGURATION", "BEHAVIOR_EARLIER_SPELLING"


INPUTS, OUTPUTS = "inputValueSockets", "outputValueSockets"
CONFIGURED, AT_2 = ("nodes", 2, "configuration"), "/nodes/2/configuration"


def valid() -> dict[str, Any]:
    """A graph with a little of everything."""
    g = GraphBuilder()
    g.variable(1.5, "x")
    g.event("done", count=3)
    start = g.add("event/onStart")
    total = g.add("math/add", {"a": 1.0, "b": 2.0})
    g.chain(
        start,
        g.add("variable/set", {"0": Out(total)}, variables=[0]),
        g.add("event/send", {"count": 4}, event=0),
        g.add("flow/switch", {"selection": 1}, cases=[1, 2]),
    )
    odd = {"extension": "VND_odd", "inputs": {"a": "float"}, "outputs": {"b": "int"}}
    g.add("odd/thing", {"a": 1.0}, **odd)
    return g.graph()


def test_the_graph_that_the_rules_are_tried_on_is_valid() -> None:
    assert findings(valid()) == [(UNSUPPORTED, "/declarations/5")]


Edit = Callable[[dict[str, Any]], Any]


def put(*path: Any) -> Edit:
    """Set what the path leads to: its last part is the value."""

    def edit(graph: dict[str, Any]) -> None:
        *way, key, value = path
        owner: Any = graph
        for step in way:
            owner = owner[step]
        if isinstance(owner, list) and key == len(owner):
            owner.append(value)
        else:
            owner[key] = value

    return edit


def drop(*path: Any) -> Edit:
    def edit(graph: dict[str, Any]) -> None:
        owner: Any = graph
        for step in path[:-1]:
            owner = owner[step]
        del owner[path[-1]]

    return edit


RULES: list[tuple[Edit, str]] = [
    # Graph Object Validation
    (put("types", 3), "/types"),
    (put("types", 0, 5), "/types/0/signature"),
    (put("types", 0, {}), "/types/0/signature"),
    (put("types", 0, "signature", "double"), "/types/0/signature"),
    (put("types", 2, {"signature": "int"}), "/types/2/signature"),
    (put("variables", "no"), "/variables"),
    (put("events", 1, {"id": "done"}), "/events/1/id"),
    (drop("declarations"), "/nodes/0/declaration"),
    # Variable Object Validation, Inline Value Object Validation
    (put("variables", 0, 7), "/variables/0"),
    (drop("variables", 0, "type"), "/variables/0/type"),
    (put("variables", 0, "type", 9), "/variables/0/type"),
    (put("variables", 0, "type", -1), "/variables/0/type"),
    (put("variables", 0, "type", 0.5), "/variables/0/type"),
    (put("variables", 0, "type", True), "/variables/0/type"),
    (put("variables", 0, "value", 1.5), "/variables/0/value"),
    (put("variables", 0, "value", [1.0, 2.0]), "/variables/0/value"),
    (put("variables", 0, "value", ["1 kg"]), "/variables/0/value"),
    (put("variables", 0, "value", [True]), "/variables/0/value"),
    (put("variables", 0, {"type": 1, "value": [0.5]}), "/variables/0/value"),
    (put("variables", 0, {"type": 1, "value": [2**31]}), "/variables/0/value"),
    # Event Object Validation
    (put("events", 0, []), "/events/0"),
    (put("events", 0, "id", 4), "/events/0/id"),
    (put("events", 0, "values", 3), "/events/0/values"),
    (put("events", 0, "values", "count", 4), "/events/0/values/count"),
    (put("events", 0, "values", "count", "type", 9), "/events/0/values/count/type"),
    (put("events", 0, "values", "count", "value", [0.5]), "/events/0/values/count/value"),
    (put("events", 0, "values", "event", {"type": 1}), "/events/0/values/event"),
    # Declaration Object Validation
    (put("declarations", 0, 3), "/declarations/0"),
    (put("declarations", 0, "op", 3), "/declarations/0/op"),
    (put("declarations", 0, "op", "math/nothing"), "/declarations/0/op"),
    (put("declarations", 1, INPUTS, {"a": {"type": 0}}), f"/declarations/1/{INPUTS}"),
    (put("declarations", 5, "extension", 3), "/declarations/5/extension"),
    (put("declarations", 5, INPUTS, 3), f"/declarations/5/{INPUTS}"),
    (put("declarations", 5, INPUTS, "a", 3), f"/declarations/5/{INPUTS}/a"),
    (put("declarations", 5, INPUTS, "a", "type", 8), f"/declarations/5/{INPUTS}/a/type"),
    (put("declarations", 5, OUTPUTS, "b", {}), f"/declarations/5/{OUTPUTS}/b/type"),
    (put("declarations", 6, {"op": "math/add"}), "/declarations/6"),
    # Node Object Validation
    (put("nodes", 1, 3), "/nodes/1"),
    (drop("nodes", 1, "declaration"), "/nodes/1/declaration"),
    (put("nodes", 1, "declaration", 77), "/nodes/1/declaration"),
    (put(*CONFIGURED, 3), AT_2),
    (put(*CONFIGURED, "variables", 3), f"{AT_2}/variables"),
    (put(*CONFIGURED, "variables", {"value": 0}), f"{AT_2}/variables/value"),
    (drop(*CONFIGURED), f"{AT_2}/variables"),
    (put(*CONFIGURED, "variables", {"value": [1]}), f"{AT_2}/variables"),
    (put("nodes", 3, "configuration", "event", {"value": [1]}), "/nodes/3/configuration/event"),
    (put("nodes", 3, "configuration", "event", {"value": [-1]}), "/nodes/3/configuration/event"),
    (put("nodes", 1, "values", []), ""),
    (put("nodes", 1, "values", "a", 3), "/nodes/1/values/a"),
    (put("nodes", 1, "values", "a", {}), "/nodes/1/values/a/type"),
    (put("nodes", 1, "values", "a", {"value": [1.0]}), "/nodes/1/values/a/type"),
    (put("nodes", 1, "values", "a", {"type": 0, "value": 3}), "/nodes/1/values/a/value"),
    (put("nodes", 1, "values", "a", {"type": 1, "value": [3]}), "/nodes/1/values"),
    (drop("nodes", 1, "values", "a"), "/nodes/1/values/a"),
    (put("nodes", 2, "values", "0", "value", [1.0]), "/nodes/2/values/0/value"),
    (put("nodes", 2, "values", "0", "node", 2), "/nodes/2/values/0/node"),
    (put("nodes", 2, "values", "0", "node", 99), "/nodes/2/values/0/node"),
    (put("nodes", 2, "values", "0", "socket", "sum"), "/nodes/2/values/0/socket"),
    (put("nodes", 2, "values", "0", "socket", 3), "/nodes/2/values/0/socket"),
    (put("nodes", 2, "values", "0", "type", 1), "/nodes/2/values/0/type"),
    (put("nodes", 2, "values", "0", "type", 8), "/nodes/2/values/0/type"),
    (put("nodes", 3, "values", "count", {"type": 0, "value": [1.0]}), "/nodes/3/values/count"),
    (put("nodes", 1, "values", "a", {"node": 2}), ""),  # has no outputs
    (put("nodes", 0, "flows", 3), "/nodes/0/flows"),
    (put("nodes", 0, "flows", "out", 3), "/nodes/0/flows/out"),
    (put("nodes", 0, "flows", "out", {}), "/nodes/0/flows/out/node"),
    (put("nodes", 0, "flows", "out", {"node": 99}), "/nodes/0/flows/out/node"),
    (put("nodes", 0, "flows", "out", {"node": 0}), "/nodes/0/flows/out/node"),
    (put("nodes", 0, "flows", "out", {"node": 2, "socket": 3}), "/nodes/0/flows/out/socket"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "place"), RULES, ids=[f"{k}-{place}" for k, (_, place) in enumerate(RULES)]
)
def test_a_broken_rule_is_named_with_its_place(edit: Edit, place: str) -> None:
    graph = copy.deepcopy(valid())
    edit(graph)
    wrong = [at for code, at in findings(graph) if code == WRONG]
    assert wrong
    if place:
        assert wrong[0] == place


def test_flows_that_go_in_circles_are_refused() -> None:
    g = GraphBuilder()
    start, one, two = g.add("event/onStart"), g.add("flow/sequence"), g.add("flow/sequence")
    g.chain(start, one)
    g.flow(one, "a", two)
    g.flow(two, "a", one)
    assert findings(g.graph())[0] == (WRONG, "/nodes/1/flows")


def test_values_that_go_in_circles_are_refused() -> None:
    g = GraphBuilder()
    g.add("math/abs", {"a": Out(1)})
    g.add("math/abs", {"a": Out(0)})
    assert findings(g.graph())[0] == (WRONG, "/nodes/0/values")


def test_nodes_in_another_order_are_read() -> None:
    # Text: later nodes only; an earlier draft, and Khronos' own tests, have any order.
    g = GraphBuilder()
    g.variable(0.0)
    g.add("variable/set", {"0": Out(1)}, variables=[0])
    g.add("math/abs", {"a": -3.0})
    start = g.add("event/onStart")
    g.flow(start, 0)
    graph = read(g.graph())
    assert graph.value_order == (1, 0, 2)
    assert graph.flow_order.index(0) < graph.flow_order.index(2)


@pytest.mark.parametrize(
    ("operation", "values", "configuration", "wrong"),
    [
        ("flow/waitAll", {}, {"inputFlows": 65}, "inputFlows"),
        ("flow/waitAll", {}, {"inputFlows": -1}, "inputFlows"),
        ("flow/for", {"startIndex": 0, "endIndex": 1}, {"initialIndex": 0.5}, "initialIndex"),
        ("flow/switch", {"selection": 1}, {"cases": [0.5, 1]}, "cases"),
        ("flow/switch", {"selection": 1}, {"cases": [-2147483649, 0]}, "cases"),
        ("flow/multiGate", {}, {"isRandom": 1, "isLoop": True}, "isRandom"),
        ("math/quatFromAngles", {"x": 0.0, "y": 0.0, "z": 0.0}, {"order": "xyy"}, "order"),
        ("debug/log", {}, {"severity": 0.5, "message": "a"}, "severity"),
        ("debug/log", {}, {"severity": 0, "message": "a {b"}, "message"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_means_the_default(
    operation: str, values: dict[str, Any], configuration: dict[str, Any], wrong: str
) -> None:
    g = GraphBuilder()
    g.add(operation, values, **configuration)
    assert findings(g.graph()) == [(DEFAULTED, f"/nodes/0/configuration/{wrong}")]
    (node,) = read(g.graph()).nodes
    assert node.operation is not None
    assert node.configuration == node.operation.defaults


@pytest.mark.parametrize(
    ("operation", "configuration"),
    [
        ("pointer/get", {"pointer": "/nodes/[/scale", "type": 0}),
        ("pointer/get", {"pointer": "/nodes/0/scale", "type": 9}),
        ("pointer/get", {"pointer": "nodes", "type": 0}),
        ("pointer/set", {"pointer": "/nodes/[value]/scale", "type": 0}),
        ("pointer/interpolate", {"pointer": "/nodes/{p1}/scale", "type": 0}),
        ("variable/interpolate", {"variable": 0, "useSlerp": True}),
        ("variable/interpolate", {"variable": 1, "useSlerp": False}),
        ("variable/get", {"variable": 2}),
        ("event/receive", {"event": 0}),
    ],
)
def test_without_a_default_a_wrong_configuration_is_refused(
    operation: str, configuration: dict[str, Any]
) -> None:
    g = GraphBuilder()
    g.variable(1.0)
    g.variable(1)
    g.add(operation, **configuration)
    code, at = findings(g.graph())[0]
    assert code == WRONG
    assert at.startswith("/nodes/0/configuration/")


def test_trigger_events_need_a_trigger_and_are_there_once() -> None:
    physics = "KHR_physics_rigid_bodies"
    trigger = {"extensions": {physics: {"trigger": {"geometry": {"shape": 0}}}}}
    file = {"asset": {"version": "2.0"}, "nodes": [trigger, {}]}
    entered = "event/rigid_body_triggerEntered"

    def of(*nodes: int) -> list[tuple[str, str]]:
        g = GraphBuilder()
        for node in nodes:
            g.add(entered, extension=physics, outputs={"motionNodeIndex": "int"}, nodeIndex=node)
        return findings(g.graph(), file)

    assert of(0) == []
    assert of(1) == [(WRONG, "/nodes/0/configuration/nodeIndex")]
    assert of(7) == [(WRONG, "/nodes/0/configuration/nodeIndex")]
    assert of(0, 0) == [(WRONG, "/nodes/1/configuration/nodeIndex")]


def test_sockets_of_other_types_make_an_operation_of_an_extension_unknown() -> None:
    g = GraphBuilder()
    g.add(
        "rigid_body/applyImpulse", {"nodeIndex": 1.0},
        extension="KHR_physics_rigid_bodies", inputs={"nodeIndex": "float"},
    )  # fmt: skip
    assert findings(g.graph()) == [(UNSUPPORTED, "/declarations/0")]


@pytest.mark.parametrize(
    ("name", "extension", "hint"),
    [
        ("event/rigid_body_triggerEntered", "", 'with "extension": "KHR_physics_rigid_bodies"?'),
        (
            "event/rigidBodyTriggerEntered",
            "KHR_physics_rigid_bodies",
            "did you mean 'event/rigid_body_triggerEntered'",
        ),
        ("math/add", "KHR_physics_rigid_bodies", "without an extension?"),
        ("math/addition", "", "did you mean 'math/add"),
    ],
)
def test_an_unknown_operation_is_led_to_one_that_is_known(
    name: str, extension: str, hint: str
) -> None:
    g = GraphBuilder()
    g.add(name, **({"extension": extension} if extension else {}))
    diagnostics = Diagnostics()
    read_graphs(document([g.graph()]), diagnostics)
    assert any(hint in issue.message for issue in diagnostics.issues)


def document(graphs: Any, *, required: bool = False, **more: Any) -> dict[str, Any]:
    names = ["KHR_interactivity"]
    return {
        "asset": {"version": "2.0"},
        "extensionsUsed": names,
        "extensionsRequired": names if required else [],
        "extensions": {"KHR_interactivity": {"graphs": graphs, **more}},
    }


def read_all(file: dict[str, Any]) -> tuple[bool, list[str]]:
    found = Diagnostics()
    graph = read_graphs(file, found)
    return graph is not None, [f"{issue.code} {issue.pointer}" for issue in found]


AT = "/extensions/KHR_interactivity"


def test_a_file_selects_one_of_its_graphs() -> None:
    good, bad = GraphBuilder().graph(), {"types": 3}
    assert read_all(document([good])) == (True, [])
    assert read_all(document([bad, good], graph=1)) == (True, [f"{WRONG} {AT}/graphs/0/types"])
    assert read_all(document([good, bad], graph=1))[0] is False
    assert read_all(document([good], graph=1)) == (False, [f"{WRONG} {AT}/graph"])
    assert read_all(document([good], graph=-1))[0] is False
    assert read_all(document([])) == (False, [f"{WRONG} {AT}/graphs"])
    assert read_all(document([7])) == (False, [f"{WRONG} {AT}/graphs/0"])
    assert read_all(document([bad], required=True))[1][-1] == f"BEHAVIOR_REQUIRED {AT}"


def test_earlier_spellings_are_read_and_told() -> None:
    g = GraphBuilder()
    g.variable(2.0, "x")
    g.variable(0.0, "y")
    start = g.add("event/onStart")
    g.add("variable/set", {"value": 5.0}, variable=0)
    g.flow(start, 1)
    graph = g.graph()
    graph["nodes"][0]["configuration"] = {}
    graph["variables"][1]["value"] = ["Infinity"]
    codes = findings(graph)
    assert {code for code, _ in codes} == {EARLIER}
    assert len(codes) == 3
    made = read(graph)
    assert made.nodes[1].configuration == {"variables": (0,)}
    assert made.variables[1].value == float("inf")


def test_numbers_as_text_are_read() -> None:
    g = GraphBuilder()
    g.variable(0.0, "x")
    g.variable(0, "n")
    graph = g.graph()
    graph["variables"][0]["value"] = ["-1.5e1"]
    graph["variables"][1]["value"] = ["-1"]
    assert {code for code, _ in findings(graph)} == {EARLIER}
    assert [variable.value for variable in read(graph).variables] == [-15.0, -1]
    for text in ("1.5", "NaN", "", "0x1", "1_0", "9e9"):
        graph["variables"][1]["value"] = [text]
        assert findings(graph)[-1] == (WRONG, "/variables/1/value")


def test_matrices_are_written_by_columns_whoever_wrote_them() -> None:
    # "Inline values": matrices are in column-major order. Output 1 of math/extract4x4 is the
    # second row of the first column.
    g = GraphBuilder()
    rows = [float(4 * (k % 4) + k // 4) for k in range(16)]  # 0, 4, 8, 12, 1, ...
    made = g.add("math/extract4x4", {"a": Typed("float4x4", rows)})
    g.variable(0.0, "as text")
    graph = g.graph()
    graph["variables"][0]["value"] = ["0"]  # an earlier spelling
    written = {"asset": {"version": "2.0", "generator": "UnityGltf 2.17.4, Unity 2022.3"}}
    behavior = Behavior(read(graph, written), JsonHost(written), 0)
    given = Preparation(behavior.graph, behavior).outputs
    behavior.clock.epoch += 1
    assert given[made, "1"]() == 4.0


def test_what_follows_from_a_finding_is_not_said() -> None:
    graph = valid()
    graph["nodes"][1]["values"]["a"] = {"type": 99, "value": [1.0]}
    # Without node 1, the input 0 of node 2, which takes its sum, would be missing.
    assert findings(graph) == [(UNSUPPORTED, "/declarations/5"), (WRONG, "/nodes/1/values/a/type")]


def test_is_valid_of_a_decomposed_matrix_is_read() -> None:
    flat = [1.0, 0.0, 0.0, 0.0] + [0.0] * 12
    assert outputs("math/matDecompose", {"a": Typed("float4x4", flat)})["isValid"] is False


def test_a_graph_that_is_not_run_is_an_error_and_the_file_is_loaded() -> None:
    found = Diagnostics()
    assert read_graphs(document([{"types": 3}]), found) is None
    assert found.has_errors
    assert not found.refuses


@pytest.mark.parametrize(
    ("text", "sockets"),
    [
        ("/myProperty", []),
        ("/nodes/[index]/scale", ["index"]),
        ("/nodes/{index}/scale", ["index"]),
        ("/nodes/[index]/extras/{{index}}", ["index"]),
        ("/nodes/{index}/extras/[[index]]", ["index"]),
        ("/nodes/{~0~0index~0~0}/rotation", ["~~index~~"]),
        ("/nodes/[my~1index]/scale", ["my/index"]),
        *((text, None) for text in (
            "/nodes/{index}/extras/~2", "/nodes/[index]/weights/[index]",
            "/nodes/{index}/weights/[index]", "/nodes/[/scale", "/nodes/{/scale",
            "/nodes/[]/scale", "/nodes/{}/scale", "/nodes/[index/scale", "/nodes/{index/scale",
            "/nodes/[i[ndex]/scale", "/nodes/[i{ndex]/scale", "/nodes/{i[ndex}/scale",
            "/nodes/{i{ndex}/scale", "/nodes/[i]ndex]/scale", "/nodes/[i}ndex]/scale",
            "/nodes/{i]ndex}/scale", "/nodes/{i}ndex}/scale", "/nodes/0/extras/[[i[ndex]]",
            "/nodes/0/extras/{{i{ndex}}", "/nodes/0/extras/[[index]", "/nodes/0/extras/{{index}",
        )),
    ],
)  # fmt: skip
def test_templates_are_those_of_the_text(text: str, sockets: list[str] | None) -> None:
    from gltf_bullet.behavior.pointer_templates import parse_template

    template = parse_template(text)
    assert (None if template is None else [name for name, _ in template.parameters]) == sockets


def test_a_template_is_filled() -> None:
    from gltf_bullet.behavior.pointer_templates import parse_template
    from gltf_bullet.behavior.values import Reference

    template = parse_template("/nodes/{N}/weights/[W]")
    assert template is not None
    assert template.fill((Reference("/nodes", 1), 2)) == "/nodes/1/weights/2"
    assert template.fill((Reference("/meshes", 1), 2)) is None
    assert template.fill((None, 2)) is None
    assert template.fill((Reference("/nodes", 1), -1)) is None
    doubled = parse_template("/nodes/[index]/extras/{{index}}")
    assert doubled is not None
    assert doubled.fill((2,)) == "/nodes/2/extras/{index}"


def test_more_graphs_than_anybody_has_are_refused() -> None:
    graphs = [GraphBuilder().graph()] * (MOST["graphs"] + 1)
    assert read_all(document(graphs)) == (False, [f"BEHAVIOR_TOO_LARGE {AT}/graphs"])
