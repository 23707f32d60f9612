"""Arguments of recorded calls on disk: plain values, references to records, and nothing that runs.

A template is a tree of tagged values. Containers keep their kind; a named tuple or dataclass keeps its type name and
fields; a dtype or device keeps its name; whatever else a call received is kept as the name of its type.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Literal, cast, final

import msgspec
import numpy as np

from tl_core._record import AliasRead, GeneratorRead, Opaque, OpRecord, ParamRecord

_MAX_DEPTH = 50
_INT_BITS = 63
"""Longer integers are written as text."""

FrameworkKind = Literal["dtype", "device", "memory_format", "layout", "type"]


@final
class FrameworkValue(msgspec.Struct, frozen=True, tag_field="is", tag="framework"):
    """A dtype, device, memory format, layout or Python number type, by its plain name."""

    kind: FrameworkKind
    name: str

    def __repr__(self) -> str:
        return self.name


@final
class EnumValue(msgspec.Struct, frozen=True, tag_field="is", tag="enum"):
    """A member of an enumeration, by name."""

    type_name: str
    name: str

    def __repr__(self) -> str:
        return f"{self.type_name}.{self.name}"


@final
class StructValue:
    """A named tuple, dataclass or similar, by type name and fields."""

    __slots__ = ("fields", "type_name")

    def __init__(self, type_name: str, fields: dict[str, object]) -> None:
        self.type_name = type_name
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StructValue):
            return NotImplemented
        return (self.type_name, self.fields) == (other.type_name, other.fields)

    def __hash__(self) -> int:
        return hash((self.type_name, tuple(self.fields)))

    def __repr__(self) -> str:
        return f"{self.type_name}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


class OpReference(msgspec.Struct, tag_field="is", tag="op"):
    """An op, by index."""

    index: int


class ParamReference(msgspec.Struct, tag_field="is", tag="param"):
    """A parameter, by index."""

    index: int


class DroppedTemplate(msgspec.Struct, tag_field="is", tag="dropped"):
    """A tensor whose op is connected to nothing and was dropped."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    payload: int
    """Index of the saved value, or -1."""


class AliasTemplate(msgspec.Struct, tag_field="is", tag="alias"):
    """A tensor whose memory other ops had written."""

    base: OpReference | ParamReference | DroppedTemplate
    writers: tuple[int, ...]
    payload: int
    """Index of the saved value, or -1."""


class ListTemplate(msgspec.Struct, tag_field="is", tag="list"):
    """A list."""

    items: list[Template]


class TupleTemplate(msgspec.Struct, tag_field="is", tag="tuple"):
    """A tuple."""

    items: list[Template]


class SetTemplate(msgspec.Struct, tag_field="is", tag="set"):
    """A set, or a frozen one."""

    items: list[Template]
    frozen: bool


class DictTemplate(msgspec.Struct, tag_field="is", tag="dict"):
    """A dictionary, in order."""

    items: list[tuple[Template, Template]]


class StructTemplate(msgspec.Struct, tag_field="is", tag="struct"):
    """A named tuple or dataclass."""

    type_name: str
    fields: dict[str, Template]


class SliceTemplate(msgspec.Struct, tag_field="is", tag="slice"):
    """A slice."""

    start: Template
    stop: Template
    step: Template


class TextTemplate(msgspec.Struct, tag_field="is", tag="text"):
    """A value that JSON has no form for, as text."""

    kind: Literal["int", "float", "complex", "bytes", "ellipsis", "str"]
    text: str


class GeneratorTemplate(msgspec.Struct, tag_field="is", tag="generator"):
    """A random generator, as it stood before the call."""

    device: str
    state: bytes


class OpaqueTemplate(msgspec.Struct, tag_field="is", tag="opaque"):
    """Only the name of a type."""

    type_name: str


Template = (
    None
    | bool
    | int
    | float
    | str
    | OpReference
    | ParamReference
    | DroppedTemplate
    | AliasTemplate
    | ListTemplate
    | TupleTemplate
    | SetTemplate
    | DictTemplate
    | StructTemplate
    | SliceTemplate
    | TextTemplate
    | GeneratorTemplate
    | OpaqueTemplate
    | FrameworkValue
    | EnumValue
)

_FRAMEWORK_TYPES: dict[tuple[str, str], FrameworkKind] = {
    ("torch", "dtype"): "dtype",
    ("torch", "device"): "device",
    ("torch", "memory_format"): "memory_format",
    ("torch", "layout"): "layout",
    ("tensorflow.python.framework.dtypes", "DType"): "dtype",
}
"""Known without importing the framework."""
_NUMBER_TYPES = (bool, int, float, complex)
"""Python types that stand for dtypes."""


@final
class TemplateEncoder:
    """Turns arguments into templates."""

    def __init__(self, payload_index: Callable[[AliasRead | OpRecord], int], *, runnable: bool = False) -> None:
        self._payload_index = payload_index
        self._runnable = runnable
        """Whether everything is kept that a call needs to run again: states of generators, tensors without an op."""
        self._open: set[int] = set()
        """Containers that are being encoded: one that holds itself has no template."""

    def encode(self, value: object) -> Template:
        """Template of any value at all."""
        kind = type(value)
        if kind is OpRecord:
            return self._op(cast("OpRecord", value))
        if value is None or kind is bool:
            return cast("bool | None", value)
        if kind is ParamRecord:
            return ParamReference(cast("ParamRecord", value).index)
        plain = _encode_scalar(value)
        if plain is not None:
            return plain
        key = id(value)
        if key in self._open or len(self._open) >= _MAX_DEPTH:
            return OpaqueTemplate(type_name(value))
        self._open.add(key)
        try:
            return self._container(value)
        finally:
            self._open.discard(key)

    def _container(self, value: object) -> Template:
        encode = self.encode
        if isinstance(value, list):
            return ListTemplate([encode(item) for item in cast("list[object]", value)])
        if isinstance(value, tuple):
            return self._tuple(cast("tuple[object, ...]", value))
        if isinstance(value, AliasRead):
            base = encode(value.base)
            if not isinstance(base, OpReference | ParamReference | DroppedTemplate):
                return base
            writers = tuple([writer.index for writer in value.writers if writer.index >= 0])
            return AliasTemplate(base, writers, self._payload_index(value))
        if isinstance(value, StructValue):
            return self._struct(value.type_name, value.fields)
        if is_dataclass(value) and not isinstance(value, type):
            named = {field.name: cast("object", getattr(value, field.name, None)) for field in fields(value)}
            return self._struct(type_name(value), named)
        if isinstance(value, Mapping):
            entries = cast("Mapping[object, object]", value)
            return DictTemplate([(encode(key), encode(entries[key])) for key in entries])
        if isinstance(value, set | frozenset):
            items = sorted(cast("set[object]", value), key=repr)
            return SetTemplate([encode(item) for item in items], isinstance(value, frozenset))
        if isinstance(value, slice):
            whole = cast("slice[object, object, object]", value)
            return SliceTemplate(encode(whole.start), encode(whole.stop), encode(whole.step))
        if isinstance(value, GeneratorRead) and self._runnable:
            return GeneratorTemplate(value.device, value.state)
        return OpaqueTemplate(value.type_name if isinstance(value, Opaque) else type_name(value))

    def _op(self, op: OpRecord) -> Template:
        """Reference to an op; one that was dropped as an orphan has no index."""
        if op.index >= 0:
            return OpReference(op.index)
        if not self._runnable:
            return OpaqueTemplate("orphan")
        dtype = str(op.dtype).rpartition(".")[2]
        return DroppedTemplate(op.shape, dtype, str(op.device), self._payload_index(op))

    def _tuple(self, value: tuple[object, ...]) -> Template:
        kind = type(value)
        if kind is tuple or kind.__module__ == "torch":  # a shape
            return TupleTemplate([self.encode(item) for item in value])
        names = cast("tuple[str, ...]", kind.__dict__.get("_fields") or kind.__dict__.get("__match_args__") or ())
        if len(names) != len(value):
            names = tuple(str(position) for position in range(len(value)))
        return self._struct(type_name(value), dict(zip(names, value, strict=True)))

    def _struct(self, name: str, values: Mapping[str, object]) -> Template:
        return StructTemplate(name, {key: self.encode(value) for key, value in values.items()})


def type_name(value: object) -> str:
    """Name of the type of `value`, without its module."""
    return type(value).__qualname__.rpartition(".<locals>.")[2]


def _encode_scalar(value: object) -> Template:
    """Template of a value without parts; None where it is something else."""
    kind = type(value)
    if kind is tuple or kind is list or kind is dict:
        return None
    if kind is str:
        return _encode_text(cast("str", value))
    if isinstance(value, Enum):
        return EnumValue(type_name(value), value.name)
    if isinstance(value, np.generic):
        value = cast("object", value.item())
    if isinstance(value, int):
        number = int(value)
        return number if number.bit_length() <= _INT_BITS else TextTemplate("int", hex(number))
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else TextTemplate("float", repr(number))
    if isinstance(value, str):
        return _encode_text(str(value))
    if isinstance(value, complex):
        return TextTemplate("complex", repr(complex(value)))
    if isinstance(value, bytes | bytearray):
        return TextTemplate("bytes", base64.b64encode(value).decode())
    if value is Ellipsis:
        return TextTemplate("ellipsis", "...")
    if isinstance(value, np.dtype):
        return FrameworkValue("dtype", cast("str", value.name))
    return _encode_framework_value(value)


def _encode_text(text: str) -> Template:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which JSON cannot hold
        return TextTemplate("str", base64.b64encode(text.encode("utf-8", "surrogatepass")).decode())
    return text


def _encode_framework_value(value: object) -> FrameworkValue | EnumValue | None:
    if isinstance(value, FrameworkValue | EnumValue):
        return value
    if isinstance(value, type) and value in _NUMBER_TYPES:
        return FrameworkValue("type", value.__name__)
    kind = type(value)
    found = _FRAMEWORK_TYPES.get((kind.__module__, kind.__name__))
    if found is None:
        return None
    name = str(value)
    return FrameworkValue(found, name if found == "device" else name.rpartition(".")[2])


@final
class TemplateDecoder:
    """Turns templates back into arguments that refer to records."""

    def __init__(self, ops: list[OpRecord], params: list[ParamRecord], payload: Callable[[int], object]) -> None:
        self._ops = ops
        self._params = params
        self._payload = payload

    def decode(self, template: Template) -> object:
        """Value of a template.

        Raises:
            ValueError: a text that is not what its kind says.
            IndexError: a record that is not there.
        """
        kind = type(template)
        if kind is OpReference:
            return self._ops[_natural(cast("OpReference", template).index)]
        if kind is TupleTemplate:
            return tuple([self.decode(item) for item in cast("TupleTemplate", template).items])
        if kind in _READY:
            return template
        return self._container(template)

    def _container(self, template: Template) -> object:
        decode = self.decode
        match template:
            case ListTemplate(items=items):
                return [decode(item) for item in items]
            case ParamReference(index=index):
                return self._params[_natural(index)]
            case TextTemplate():
                return _decode_text(template)
            case DictTemplate(items=entries):
                return {_key(decode(key)): decode(value) for key, value in entries}
            case StructTemplate(type_name=name, fields=values):
                return StructValue(name, {key: decode(value) for key, value in values.items()})
            case SliceTemplate(start=start, stop=stop, step=step):
                return slice(decode(start), decode(stop), decode(step))
            case SetTemplate(items=items, frozen=frozen):
                members = [_key(decode(item)) for item in items]
                return frozenset(members) if frozen else set(members)
            case GeneratorTemplate(device=device, state=state):
                return GeneratorRead(device, state)
            case OpaqueTemplate(type_name=name):
                return Opaque(name)
            case AliasTemplate():
                return self._alias(template)
            case DroppedTemplate(shape=shape, dtype=dtype, device=device, payload=index):
                kept = self._payload(index)
                return OpRecord(-1, "constant", None, 0, (), shape, dtype, device, False, None, kept, "", None)
            case _:
                return template

    def _alias(self, template: AliasTemplate) -> AliasRead:
        base = self.decode(template.base)
        assert isinstance(base, OpRecord | ParamRecord)
        writers = tuple(self._ops[_natural(writer)] for writer in template.writers)
        return AliasRead(base, writers, self._payload(template.payload))


_READY = frozenset({type(None), bool, int, float, str, FrameworkValue, EnumValue})


def _natural(index: int) -> int:
    if index < 0:
        raise IndexError(index)
    return index


def _key(value: object) -> object:
    """Something that can stand in a set: a foreign bundle may hold a list as a key."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _decode_text(template: TextTemplate) -> object:
    text = template.text
    match template.kind:
        case "int":
            return int(text, 16)
        case "float":
            return float(text)
        case "complex":
            return complex(text)
        case "bytes":
            return base64.b64decode(text, validate=True)
        case "ellipsis":
            return ...
        case "str":
            return base64.b64decode(text, validate=True).decode("utf-8", "surrogatepass")
