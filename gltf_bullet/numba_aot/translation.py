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
import operator
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
from numba.core.typeconv import Conversion
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)
from numba.np import arrayobj

from gltf_bullet.numba_aot.declarations import (
    KERNELS,
    PRIMITIVES,
    RECORD_ARRAYS,
    RECORD_READERS,
    RECORDS,
    TABLES,
    argument_kinds,
    entry_name,
)
from gltf_bullet.numba_aot.wrappers import DECLARATIONS, c_name, python_name, wrappers

_config: Any = numba.config
_types: Any = numba.types
_intrinsic: Any = intrinsic
_arrays: Any = arrayobj

# --- types ----------------------------------------------------------------------------------------


class _Numbers(_types.Type):  # type: ignore[misc]
    """Numbers of eight bytes, side by side in memory: the arrays of kernels, and parts of them.

    Address and length are all there is to them: Numba's own arrays have seven numbers each, which
    takes half of the time that kernels are compiled in (measured).
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"Numbers({kind})")

    def can_convert_from(self, _context: Any, other: Any) -> Any:
        """Small arrays inside of records are numbers as well."""
        is_array = isinstance(other, _types.Array) and other.layout == "C"
        return Conversion.safe if is_array and other.dtype == self.kind else None


@register_model(_Numbers)
class _NumbersModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, made: Any) -> None:
        members = [("data", _types.CPointer(made.kind)), ("size", _types.int64)]
        super().__init__(manager, made, members)


class _Tables(_types.Type):  # type: ignore[misc]
    """A record and the arrays that its tables are in: an address each."""

    def __init__(self, name: str) -> None:
        self.record = _record_type(name)
        self.arrays = RECORD_ARRAYS[name]
        self.tables = TABLES[name]
        super().__init__(name=f"Tables({name})")


@register_model(_Tables)
class _TablesModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, made: Any) -> None:
        members = [("record", _types.voidptr)]
        members += [(name, _types.CPointer(_KINDS[kind])) for name, kind in made.arrays.items()]
        super().__init__(manager, made, members)


_KINDS = {"IntArray": _types.int64, "FloatArray": _types.float64}
_NUMBERS = {name: _Numbers(kind) for name, kind in _KINDS.items()}
_TYPES = {
    **_NUMBERS,
    "IntTable": _types.int64[:, ::1],
    "int": _types.int64,
    "float": _types.float64,
    "bool": _types.boolean,
}
"""Numba's types of the annotations in kernels; all others are records."""


@cache
def _record_type(name: str) -> Any:
    """Numba's type of a record: a pointer into the array that holds it."""
    return numba.from_dtype(RECORDS[name])


@cache
def _tables_type(name: str) -> Any:
    """Numba's type of a record with tables."""
    return _Tables(name)


def _type_of(kind: str) -> Any:
    """Numba's type of what is annotated so."""
    if kind in _TYPES:
        return _TYPES[kind]
    return _tables_type(kind) if kind in RECORD_ARRAYS else _record_type(kind)


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
        return _record_reader(*RECORD_READERS[function])
    if function not in _translated:
        translated = {name: _translate(called) for name, called in _calls(function).items()}
        names = {**function.__globals__, **translated}
        plain = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        # Nobody calls it by Numba's wrappers, and it allocates nothing.
        options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
        options |= {"error_model": "numpy", "pipeline_class": _Translation}
        compiled: Any = numba.njit(**options)(plain)
        arguments = tuple(map(_type_of, argument_kinds(function)))
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


# --- numbers, and records with tables -------------------------------------------------------------

_UNKNOWN = 2**63 - 1
"""Length of a table: kernels know it from the counts."""


def _parts(context: Any, builder: Any, kind: Any, value: Any = None) -> Any:
    """The parts of a value of one of the types above, by name."""
    return cgutils.create_struct_proxy(kind)(context, builder, value)


def _made(context: Any, builder: Any, kind: Any, data: Any, size: Any) -> Any:
    """Numbers at an address."""
    made = _parts(context, builder, kind)
    made.data, made.size = data, size
    return made._getvalue()  # noqa: SLF001  # Numba's own way


@infer_global(operator.getitem)
class _GetNumbers(AbstractTemplate):
    def generic(self, arguments: Any, _named: Any) -> Any:
        numbers, index = arguments
        if not isinstance(numbers, _Numbers):
            return None
        if isinstance(index, _types.SliceType):
            return signature(numbers, numbers, index)
        is_one = isinstance(index, _types.Integer)
        return signature(numbers.kind, numbers, _types.int64) if is_one else None


@infer_global(operator.setitem)
class _SetNumber(AbstractTemplate):
    def generic(self, arguments: Any, _named: Any) -> Any:
        numbers, index, _value = arguments
        if not (isinstance(numbers, _Numbers) and isinstance(index, _types.Integer)):
            return None
        return signature(_types.none, numbers, _types.int64, numbers.kind)


@infer_global(len)
class _CountNumbers(AbstractTemplate):
    def generic(self, arguments: Any, _named: Any) -> Any:
        is_counted = isinstance(arguments[0], _Numbers)
        return signature(_types.int64, *arguments) if is_counted else None


@infer_getattr
class _NumbersAttributes(AttributeTemplate):
    """``numbers.ctypes.data`` is their address."""

    key = _Numbers

    def generic_resolve(self, numbers: Any, name: str) -> Any:
        return {"ctypes": numbers, "data": _types.int64}.get(name)


@lower_getattr_generic(_Numbers)
def _get_address(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    if name == "ctypes":
        return value
    data = _parts(context, builder, kind, value).data
    return builder.ptrtoint(data, context.get_value_type(_types.int64))


@lower_builtin(operator.getitem, _Numbers, _types.int64)
def _get_number(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    data = _parts(context, builder, signature.args[0], values[0]).data
    return builder.load(builder.gep(data, [values[1]]))


@lower_builtin(operator.setitem, _Numbers, _types.int64, _types.Any)
def _set_number(context: Any, builder: Any, signature: Any, values: Any) -> None:
    data = _parts(context, builder, signature.args[0], values[0]).data
    builder.store(values[2], builder.gep(data, [values[1]]))


@lower_builtin(operator.getitem, _Numbers, _types.SliceType)
def _get_numbers(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """A part of the numbers, where they are: nothing is copied or checked."""
    kind, slice_kind = signature.args
    numbers = _parts(context, builder, kind, values[0])
    part = _parts(context, builder, slice_kind, values[1])
    is_inside = builder.icmp_signed("<", part.stop, numbers.size)
    size = builder.sub(builder.select(is_inside, part.stop, numbers.size), part.start)
    return _made(context, builder, kind, builder.gep(numbers.data, [part.start]), size)


@lower_builtin(len, _Numbers)
def _count_numbers(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return _parts(context, builder, signature.args[0], values[0]).size


@lower_cast(_types.Array, _Numbers)
def _numbers_of_array(context: Any, builder: Any, from_: Any, to: Any, value: Any) -> Any:
    array = _arrays.make_array(from_)(context, builder, value)
    return _made(context, builder, to, array.data, array.nitems)


@infer_getattr
class _TablesAttributes(AttributeTemplate):
    key = _Tables

    def generic_resolve(self, tables: Any, name: str) -> Any:
        kind = tables.tables.get(name)
        if kind is None and name not in tables.arrays:
            return tables.record.typeof(name)
        return _NUMBERS[tables.arrays[name if kind is None else kind.array]]


@lower_getattr_generic(_Tables)
def _get_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """A number of the record, the numbers of a table, or an array."""
    parts = _parts(context, builder, kind, value)
    size = context.get_constant(_types.int64, _UNKNOWN)
    if name in kind.arrays:
        numbers = _NUMBERS[kind.arrays[name]]
        return _made(context, builder, numbers, getattr(parts, name), size)
    record = builder.bitcast(parts.record, context.get_value_type(kind.record))
    found = context.get_getattr(kind.record, name)(context, builder, kind.record, record, name)
    if name not in kind.tables:
        return found
    array = kind.tables[name].array
    data = builder.gep(getattr(parts, array), [found])
    return _made(context, builder, _NUMBERS[kind.arrays[array]], data, size)


@lower_setattr_generic(_Tables)
def _set_field(context: Any, builder: Any, signature_: Any, values: Any, name: str) -> None:
    kind, value = signature_.args
    record = _parts(context, builder, kind, values[0]).record
    record = builder.bitcast(record, context.get_value_type(kind.record))
    set_field = signature(_types.none, kind.record, value)
    context.get_setattr(name, set_field)(builder, (record, values[1]))


# --- primitives: what compiled kernels do in a form of their own ----------------------------------


def _numbers_at(kind: Any) -> Any:
    """Make an intrinsic: numbers by address and length."""

    def declare(_context: object, _address: object, _count: object) -> Any:
        def generate(context: Any, builder: Any, _signature: object, values: Any) -> Any:
            data = builder.inttoptr(values[0], context.get_value_type(_types.CPointer(kind.kind)))
            return _made(context, builder, kind, data, values[1])

        return kind(_types.int64, _types.int64), generate

    return _intrinsic(declare)


_words_at, _doubles_at = _numbers_at(_NUMBERS["IntArray"]), _numbers_at(_NUMBERS["FloatArray"])


def _numbers_in_table(kind: Any) -> Any:
    """Make an intrinsic: numbers whose address and length stand in a table."""

    def declare(_context: object, table: Any, _row: object, _column: object) -> Any:
        def generate(context: Any, builder: Any, _signature: object, values: Any) -> Any:
            parts = _arrays.make_array(table)(context, builder, values[0])
            width = builder.extract_value(parts.shape, 1)
            at = builder.add(builder.mul(values[1], width), values[2])
            place = builder.gep(parts.data, [at])
            one = context.get_constant(_types.int64, 1)
            data = context.get_value_type(_types.CPointer(kind.kind))
            address, size = builder.load(place), builder.load(builder.gep(place, [one]))
            return _made(context, builder, kind, builder.inttoptr(address, data), size)

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
    "ints_at": _numbers_in_table(_NUMBERS["IntArray"]),
    "floats_at": _numbers_in_table(_NUMBERS["FloatArray"]),
    "call": _intrinsic(_declare_call),
}
"""Compiled forms of the primitives of ``declarations``, by name."""


@cache
def _record_reader(name: str, *arrays: str) -> Any:
    """A record that begins at a number of an array, the first one of ``arrays`` if it has some."""
    record = _record_type(name)
    result = _tables_type(name) if arrays else record

    def declare(_context: object, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            data = [
                _parts(context, builder, kind, value).data
                for kind, value in zip(signature.args[:-1], values[:-1], strict=True)
            ]
            at = context.cast(builder, values[-1], signature.args[-1], _types.int64)
            pointer = builder.gep(data[0], [at])
            if not arrays:
                return builder.bitcast(pointer, context.get_value_type(record))
            made = _parts(context, builder, result)
            made.record = builder.bitcast(pointer, context.get_value_type(_types.voidptr))
            for array, part in zip(arrays, data, strict=True):
                setattr(made, array, part)
            return made._getvalue()  # noqa: SLF001

        return result(*arguments), generate

    count = (len(arrays) or 1) + 1
    declare.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        inspect.Parameter(f"p{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(count + 1)
    )
    return _intrinsic(declare)
