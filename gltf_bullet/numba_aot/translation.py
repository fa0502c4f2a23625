"""Machine code from kernels: Numba reads the Python, LLVM optimises all of it once.

Left to itself Numba optimises what a function calls again with each function that calls it, and
makes code that needs Numba in every process (0.4 s to import, 0.7 s for its first call, measured).
So Numba only translates, and entries are optimised together with all that they call, in one go;
around each stand a C function and one for Python, and the result needs nothing but the C library.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba.core import cgutils
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.types.functions import BaseFunction
from numba.extending import intrinsic
from numba.np import arrayobj

from gltf_bullet.numba_aot.declarations import (
    KERNELS,
    PRIMITIVES,
    RECORD_ARRAYS,
    RECORD_READERS,
    argument_kinds,
    entry_name,
)
from gltf_bullet.numba_aot.numba_types import (
    NUMBERS,
    data_of,
    type_of,
    value_of,
    width_of,
)
from gltf_bullet.numba_aot.wrappers import DECLARATIONS, c_name, python_name, wrappers

_config: Any = numba.config
_types: Any = numba.types
_intrinsic: Any = intrinsic
_arrays: Any = arrayobj

# --- translation ----------------------------------------------------------------------------------

_WITHOUT_EFFECT = {
    *("with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function"),
    *("rewrite_semantic_constants", "dead_branch_prune", "generic_rewrites", "inline_overloads"),
    *("Rewrite dynamic raises", "find_literally", "literal_unroll", "LiteralPropagation"),
    *("nopython_rewrites", "ir_legalization", "annotate_types", "dump_parfor_diagnostics"),
}
"""Passes of Numba's that change nothing in kernels: they have no closures, generators, array
expressions or exceptions, and LLVM prunes branches. A quarter of the time; without them the machine
code is the same to the last byte (measured).
"""

_translated: dict[Any, Any] = {}


class _Translation(Compiler):
    """Numba's way from Python to LLVM, without what kernels do not need."""

    def define_pipelines(self) -> list[Any]:
        [manager] = super().define_pipelines()  # type: ignore[no-untyped-call]
        manager.passes = [made for made in manager.passes if made[0].name() not in _WITHOUT_EFFECT]
        return [manager]


def build(functions: Sequence[Callable[..., Any]], *machines: Any) -> list[bytes]:
    """Entries as one object for each of some processors; ``wrappers`` tells the names in it."""
    names, parts = set[str](), list[str]()
    libraries: dict[Any, None] = {}
    for function in functions:
        with _plain_translation():
            compiled = _translate(function, _types.int64)
        [result] = compiled.overloads.values()
        name = entry_name(function)
        names |= {c_name(name), python_name(name)}
        parts.append(wrappers(name, argument_kinds(function), result.fndesc.mangled_name))
        _linked(result.library, libraries)
    parts = [DECLARATIONS + "".join(parts), *(library.get_llvm_str() for library in libraries)]
    return [_object(parts, names, machine) for machine in machines]


def _object(parts: Sequence[str], names: Collection[str], machine: Any) -> bytes:
    """Object code of modules in LLVM's words, optimised together; only ``names`` stay visible."""
    module, *others = [llvm.parse_assembly(part) for part in parts]
    for other in others:
        module.link_in(other)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    for defined in (*module.functions, *module.global_variables):
        if not defined.is_declaration and defined.name not in names:
            defined.linkage = "internal"
    _optimise(module, machine)
    return bytes(machine.emit_object(module))


def _calls(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """The kernels and primitives that a kernel calls, by the names that it has for them."""
    # Names of attributes stand in ``co_names`` as well.
    read = {k.argval for k in dis.get_instructions(function) if k.opname == "LOAD_GLOBAL"}
    named = {name: function.__globals__.get(name) for name in sorted(read)}
    return {
        name: called
        for name, called in named.items()
        if isinstance(called, FunctionType)
        and (called in KERNELS or called in PRIMITIVES or called in RECORD_READERS)
    }


def _linked(library: Any, known: dict[Any, None]) -> dict[Any, None]:
    """A library of Numba's code and all that it calls, each once."""
    if library not in known:
        known[library] = None
        for other in library._linking_libraries:  # noqa: SLF001  # nothing public tells
            _linked(other, known)
    return known


def _optimise(module: Any, machine: Any) -> None:
    """Optimise a module as Numba would."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _translate(function: Callable[..., Any], result: Any = None) -> Any:
    """A kernel as Numba's function, for one signature, with everything that it calls."""
    if function in PRIMITIVES:
        return _COMPILED_PRIMITIVES[function.__name__]
    if function in RECORD_READERS:
        return _record_reader(RECORD_READERS[function])
    if function not in _translated:
        translated = {name: _translate(called) for name, called in _calls(function).items()}
        names = {**function.__globals__, **translated}
        plain = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        # Nobody calls it by Numba's wrappers, and it allocates nothing.
        options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
        options |= {"error_model": "numpy", "pipeline_class": _Translation}
        compiled: Any = numba.njit(**options)(plain)
        arguments = tuple(map(type_of, argument_kinds(function)))
        compiled.compile(arguments if result is None else result(*arguments))
        compiled.disable_compile()
        _translated[function] = compiled
    return _translated[function]


@contextlib.contextmanager
def _plain_translation() -> Iterator[None]:
    """Let Numba translate only: nothing is optimised or made executable, no index is negative.

    Otherwise it makes machine code of each kernel at once (as long as all the rest), finds out anew
    for each of 8000 sums and products what numbers add up to (a seventh of the time), and asks at
    every single access whether the index counts from the end, which makes the solve of a ragdoll
    two and a half times as slow (measured). Others who compile wait meanwhile.

    These are Numba's own, not its promises: where they are other ones, building takes longer and
    kernels are slower, and that is all.
    """
    changed = (
        (arrayobj, "fix_integer_index", _plain_index),
        (CPUContext, "get_executable", _no_executable),
        (CPUCodeLibrary, "finalize", _left_open),
        (BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)),
    )
    with global_compiler_lock:
        optimisation, _config.OPT = _config.OPT, type(_config.OPT)("0")
        before = [(owner, name, getattr(owner, name, None)) for owner, name, _ in changed]
        for owner, name, replacement in changed:
            setattr(owner, name, replacement)
        try:
            yield
        finally:
            for owner, name, value in before:
                setattr(owner, name, value)
            _config.OPT = optimisation


def _plain_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:  # noqa: ARG001
    return context.cast(builder, index, kind, _types.intp if kind.signed else _types.uintp)


def _no_executable(_context: object, _library: object, _function: object, _env: object) -> Any:
    # A function of C's by which Numba knows this one from others; nobody calls it.
    return [].copy


def _remembering(find: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of Numba's so that it remembers its results by the types of arguments."""
    known: dict[Any, Any] = {}

    def remembered(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        if named:
            return find(function, context, arguments, named)
        key = (function, arguments)
        if key not in known:
            known[key] = find(function, context, arguments, named)
        return known[key]

    return remembered


def _left_open(_library: object) -> None:
    """Whoever needs it finished finishes it later."""


# --- primitives: what compiled kernels do in a form of their own ----------------------------------


def _numbers_at(kind: Any) -> Any:
    """Make an intrinsic: numbers by address and length."""

    def declare(_context: object, _address: object, _count: object) -> Any:
        def generate(context: Any, builder: Any, _signature: object, values: Any) -> Any:
            data = builder.inttoptr(values[0], context.get_value_type(_types.CPointer(kind.kind)))
            return value_of(context, builder, kind, data, values[1])

        return kind(_types.int64, _types.int64), generate

    return _intrinsic(declare)


_words_at, _doubles_at = _numbers_at(NUMBERS["IntArray"]), _numbers_at(NUMBERS["FloatArray"])


def _numbers_in_table(kind: Any) -> Any:
    """Make an intrinsic: numbers whose address and length stand in a table."""

    def declare(_context: object, table: Any, _row: object, _column: object) -> Any:
        def generate(context: Any, builder: Any, _signature: object, values: Any) -> Any:
            at = builder.add(builder.mul(values[1], width_of(builder, values[0])), values[2])
            place = builder.gep(data_of(builder, values[0]), [at])
            one = context.get_constant(_types.int64, 1)
            data = context.get_value_type(_types.CPointer(kind.kind))
            address, size = builder.load(place), builder.load(builder.gep(place, [one]))
            return value_of(context, builder, kind, builder.inttoptr(address, data), size)

        return kind(table, _types.int64, _types.int64), generate

    return _intrinsic(declare)


def _declare_call(_context: object, _address: object, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts: Any = cgutils.unpack_tuple(builder, values[1])  # type: ignore[no-untyped-call]
        kinds = [context.get_value_type(kind) for kind in signature.args[1].types]
        function = ir.FunctionType(ir.IntType(64), kinds)
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), parts)

    kinds = _types.Tuple([_types.unliteral(kind) for kind in arguments.types])
    return _types.int64(_types.int64, kinds), generate


_COMPILED_PRIMITIVES: dict[str, Any] = {
    "words_at": _words_at,
    "doubles_at": _doubles_at,
    "ints_at": _numbers_in_table(NUMBERS["IntArray"]),
    "floats_at": _numbers_in_table(NUMBERS["FloatArray"]),
    "call": _intrinsic(_declare_call),
}
"""Compiled forms of the primitives of ``declarations``, by name."""


@cache
def _record_reader(name: str) -> Any:
    """A record that begins at a number of an array, the first one of its own if it has some."""
    made = type_of(name)

    def declare(_context: object, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = [data_of(builder, array) for array in values[:-1]]
            at = context.cast(builder, values[-1], signature.args[-1], _types.int64)
            record = builder.gep(arrays[0], [at])
            if not RECORD_ARRAYS[name]:
                return builder.bitcast(record, context.get_value_type(made))
            record = builder.bitcast(record, context.get_value_type(_types.voidptr))
            return value_of(context, builder, made, record, *arrays)

        return made(*arguments), generate

    # Numba looks at how many arguments there are.
    names = ["context", *(RECORD_ARRAYS[name] or ["array"]), "offset"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(argument, kind) for argument in names]
    declare.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return _intrinsic(declare)
