"""Numba's types of what kernels work on: numbers in memory, and records that know their tables.

Numba's own arrays have seven parts each, a third of the instructions that LLVM is given moves these
about, and no function may return one without Numba's allocator.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import typeconv
from numba.core.typing import templates
from numba.np import arrayobj

from gltf_bullet.numba_aot.declarations import COUNTS, RECORD_ARRAYS, RECORDS, TABLES

# Numba says little about types.
_types: Any = numba.types
_extending: Any = extending
_templates: Any = templates
_arrays: Any = arrayobj
_typeconv: Any = typeconv
_Lowering: TypeAlias = Callable[..., Callable[[Any], Any]]
_lower: _Lowering = _extending.lower_builtin
_lower_attribute: _Lowering = _extending.lower_getattr_generic

# --- types ----------------------------------------------------------------------------------------


class _Numbers(_types.Type):  # type: ignore[misc]
    """Numbers of eight bytes, side by side in memory: an address and a length."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"Numbers({kind})")

    def can_convert_from(self, _context: Any, other: Any) -> Any:
        """Small arrays inside of records are numbers as well."""
        is_array = isinstance(other, _types.Array) and other.layout == "C"
        return _typeconv.Conversion.safe if is_array and other.dtype == self.kind else None


@_extending.register_model(_Numbers)
class _NumbersModel(_extending.models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, made: Any) -> None:
        members = [("data", _types.CPointer(made.kind)), ("size", _types.int64)]
        super().__init__(manager, made, members)


class _Rows(_types.Type):  # type: ignore[misc]
    """Rows of numbers, one after the other: an address, how many rows, and how long they are."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.row = _Numbers(kind)
        super().__init__(name=f"Rows({kind})")


@_extending.register_model(_Rows)
class _RowsModel(_extending.models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, made: Any) -> None:
        members = [("data", _types.CPointer(made.kind))]
        super().__init__(manager, made, [*members, ("size", _types.int64), ("width", _types.int64)])


class _Tables(_types.Type):  # type: ignore[misc]
    """A record and the arrays that its tables are in: an address each."""

    def __init__(self, name: str) -> None:
        self.record = _record_type(name)
        self.arrays = RECORD_ARRAYS[name]
        self.tables = TABLES[name]
        super().__init__(name=name)


@_extending.register_model(_Tables)
class _TablesModel(_extending.models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, made: Any) -> None:
        members = [("record", _types.voidptr)]
        members += [(name, _types.CPointer(_KINDS[kind])) for name, kind in made.arrays.items()]
        super().__init__(manager, made, members)


_KINDS = {"IntArray": _types.int64, "FloatArray": _types.float64}
NUMBERS = {name: _Numbers(kind) for name, kind in _KINDS.items()}
_ROWS = {name: _Rows(kind) for name, kind in _KINDS.items()}
_PLACE = _types.UniTuple(_types.int64, 2)
"""Row and column."""
_TYPES = {
    **NUMBERS,
    "IntTable": _ROWS["IntArray"],
    "FloatTable": _ROWS["FloatArray"],
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
def type_of(kind: str) -> Any:
    """Numba's type of what is annotated so."""
    if kind in _TYPES:
        return _TYPES[kind]
    return _Tables(kind) if RECORD_ARRAYS[kind] else _record_type(kind)


# --- what they are made of, and what can be done with them ----------------------------------------

_UNKNOWN = 2**63 - 1
"""Length of a table: kernels know it from the counts."""


def value_of(context: Any, builder: Any, kind: Any, *parts: Any) -> Any:
    """A value of one of the types above, of its parts: of numbers address and length."""
    value = ir.Constant(context.get_value_type(kind), ir.Undefined)
    for k, part in enumerate(parts):
        value = builder.insert_value(value, part, k)
    return value


def data_of(builder: Any, numbers: Any) -> Any:
    """The address of numbers."""
    return builder.extract_value(numbers, 0)


@_templates.infer_global(operator.getitem)
class _GetNumbers(_templates.AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _named: Any) -> Any:
        numbers, index = arguments
        if isinstance(numbers, _Rows):
            return _signature_of_rows(numbers, index)
        if not isinstance(numbers, _Numbers):
            return None
        if isinstance(index, _types.SliceType):
            return _templates.signature(numbers, numbers, index)
        is_one = isinstance(index, _types.Integer)
        return _templates.signature(numbers.kind, numbers, _types.int64) if is_one else None


def _signature_of_rows(rows: Any, index: Any) -> Any:
    """Return the signature of an index, which yields rows, a row, a number, or a part of a row."""
    if isinstance(index, _types.SliceType):
        return _templates.signature(rows, rows, index)
    if isinstance(index, _types.Integer):
        return _templates.signature(rows.row, rows, _types.int64)
    if not (isinstance(index, _types.BaseTuple) and len(index) == 2):
        return None
    if isinstance(index[1], _types.SliceType):
        return _templates.signature(rows.row, rows, _types.Tuple((_types.int64, index[1])))
    return _templates.signature(rows.kind, rows, _PLACE)


@_templates.infer_global(operator.setitem)
class _SetNumber(_templates.AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _named: Any) -> Any:
        numbers, index, _value = arguments
        if isinstance(numbers, _Rows) and isinstance(index, _types.BaseTuple):
            return _templates.signature(_types.none, numbers, _PLACE, numbers.kind)
        if not (isinstance(numbers, _Numbers) and isinstance(index, _types.Integer)):
            return None
        return _templates.signature(_types.none, numbers, _types.int64, numbers.kind)


@_templates.infer_global(len)
class _CountNumbers(_templates.AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _named: Any) -> Any:
        is_counted = isinstance(arguments[0], (_Numbers, _Rows))
        return _templates.signature(_types.int64, *arguments) if is_counted else None


@_templates.infer_getattr
class _NumbersAttributes(_templates.AttributeTemplate):  # type: ignore[misc]
    """``numbers.ctypes.data`` is their address."""

    key = _Numbers

    def generic_resolve(self, numbers: Any, name: str) -> Any:
        return {"ctypes": numbers, "data": _types.int64}.get(name)


@_lower_attribute(_Numbers)
def _get_address(context: Any, builder: Any, _kind: Any, value: Any, name: str) -> Any:
    if name == "ctypes":
        return value
    return builder.ptrtoint(data_of(builder, value), context.get_value_type(_types.int64))


@_lower(operator.getitem, _Numbers, _types.int64)
def _get_number(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
    return builder.load(builder.gep(data_of(builder, values[0]), [values[1]]))


@_lower(operator.setitem, _Numbers, _types.int64, _types.Any)
def _set_number(_context: Any, builder: Any, _signature: Any, values: Any) -> None:
    builder.store(values[2], builder.gep(data_of(builder, values[0]), [values[1]]))


@_lower(operator.getitem, _Numbers, _types.SliceType)
def _get_numbers(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return _part_of(context, builder, signature.args[0], *values)


def _part_of(context: Any, builder: Any, kind: Any, numbers: Any, part: Any) -> Any:
    """A part of numbers, where they are: nothing is copied or checked."""
    data, size = (builder.extract_value(numbers, k) for k in range(2))
    start, stop = (builder.extract_value(part, k) for k in range(2))
    end = builder.select(builder.icmp_signed("<", stop, size), stop, size)
    return value_of(context, builder, kind, builder.gep(data, [start]), builder.sub(end, start))


@_lower(len, _Numbers)
@_lower(len, _Rows)
def _count_numbers(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
    return builder.extract_value(values[0], 1)


def _numbers_of_array(context: Any, builder: Any, from_: Any, to: Any, value: Any) -> Any:
    array = _arrays.make_array(from_)(context, builder, value)
    return value_of(context, builder, to, array.data, array.nitems)


_extending.lower_cast(_types.Array, _Numbers)(_numbers_of_array)


@_templates.infer_getattr
class _RowsAttributes(_templates.AttributeTemplate):  # type: ignore[misc]
    """``rows.ctypes.data`` is their address, ``rows.shape`` how many they are and how long."""

    key = _Rows

    def generic_resolve(self, rows: Any, name: str) -> Any:
        return {"ctypes": rows.row, "shape": _PLACE}.get(name)


@_lower_attribute(_Rows)
def _get_shape(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    data, size, width = (builder.extract_value(value, k) for k in range(3))
    if name == "ctypes":
        return value_of(context, builder, kind.row, data, size)
    return context.make_tuple(builder, _PLACE, (size, width))


def _row_at(builder: Any, rows: Any, number: Any) -> Any:
    """The address of a row."""
    return builder.gep(data_of(builder, rows), [builder.mul(number, width_of(builder, rows))])


def width_of(builder: Any, rows: Any) -> Any:
    """Return the length of rows."""
    return builder.extract_value(rows, 2)


def _place_at(builder: Any, rows: Any, place: Any) -> Any:
    row, column = (builder.extract_value(place, k) for k in range(2))
    return builder.gep(_row_at(builder, rows, row), [column])


@_lower(operator.getitem, _Rows, _types.int64)
def _get_row(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    row = _row_at(builder, *values), width_of(builder, values[0])
    return value_of(context, builder, signature.return_type, *row)


@_lower(operator.getitem, _Rows, _PLACE)
def _get_entry(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
    return builder.load(_place_at(builder, *values))


@_lower(operator.setitem, _Rows, _PLACE, _types.Any)
def _set_entry(_context: Any, builder: Any, _signature: Any, values: Any) -> None:
    builder.store(values[2], _place_at(builder, *values[:2]))


@_lower(operator.getitem, _Rows, _types.BaseTuple)
def _get_part_of_row(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    row, part = (builder.extract_value(values[1], k) for k in range(2))
    whole = _row_at(builder, values[0], row), width_of(builder, values[0])
    numbers = value_of(context, builder, signature.return_type, *whole)
    return _part_of(context, builder, signature.return_type, numbers, part)


@_lower(operator.getitem, _Rows, _types.SliceType)
def _get_rows(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Rows from one on."""
    start = builder.extract_value(values[1], 0)
    left = builder.sub(builder.extract_value(values[0], 1), start)
    part = _row_at(builder, values[0], start), left, width_of(builder, values[0])
    return value_of(context, builder, signature.return_type, *part)


@_templates.infer_getattr
class _TablesAttributes(_templates.AttributeTemplate):  # type: ignore[misc]
    """A table is its numbers; all else is as the record has it."""

    key = _Tables

    def generic_resolve(self, tables: Any, name: str) -> Any:
        kind = tables.tables.get(name)
        if kind is None and name not in tables.arrays:
            return tables.record.typeof(name)
        if kind is None:
            return NUMBERS[tables.arrays[name]]
        return (_ROWS if len(kind.shape) == 2 else NUMBERS)[tables.arrays[kind.array]]


def _record_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    pointer = context.get_value_type(kind.record)
    return builder.bitcast(builder.extract_value(value, 0), pointer)


@_lower_attribute(_Tables)
def _get_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """A number of the record, the numbers of a table, or an array."""
    array = kind.tables[name].array if name in kind.tables else name
    found = None
    if name not in kind.arrays:
        record = _record_of(context, builder, kind, value)
        found = context.get_getattr(kind.record, name)(context, builder, kind.record, record, name)
    if array not in kind.arrays:
        return found
    data = builder.extract_value(value, 1 + list(kind.arrays).index(array))
    data = data if found is None else builder.gep(data, [found])
    size = context.get_constant(_types.int64, _UNKNOWN)
    if name in kind.arrays or len(kind.tables[name].shape) != 2:
        return value_of(context, builder, NUMBERS[kind.arrays[array]], data, size)
    width = kind.tables[name].shape[1]
    if isinstance(width, str):
        width = _get_field(context, builder, kind, value, COUNTS[kind.name][width])
    else:
        width = context.get_constant(_types.int64, width)
    return value_of(context, builder, _ROWS[kind.arrays[array]], data, size, width)


def _set_field(context: Any, builder: Any, signature: Any, values: Any, name: str) -> None:
    kind, value = signature.args
    record = _record_of(context, builder, kind, values[0])
    set_field = context.get_setattr(name, _templates.signature(_types.none, kind.record, value))
    set_field(builder, (record, values[1]))


_extending.lower_setattr_generic(_Tables)(_set_field)
