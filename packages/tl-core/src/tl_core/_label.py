"""Names of layers and ops, formatted when asked for."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, final

from tl_core._spelling import type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._grouping import Grouping
    from tl_core._record import OpRecord

_LABEL = re.compile(r"(.+?)_([1-9][0-9]*)(?:_([1-9][0-9]*))?")


def may_be_label(text: str) -> bool:
    """Whether a text has the form of a layer's label, so that labels must be derived to tell."""
    return _LABEL.fullmatch(text) is not None


@final
class Labels:
    """Labels of a grouping: `conv2d_3_7` is the third conv2d and the seventh compute layer."""

    __slots__ = ("_grouping", "_layers", "_number", "_type_number", "_types")

    def __init__(self, ops: Sequence[OpRecord], grouping: Grouping) -> None:
        self._grouping = grouping
        spelled: dict[str, str] = {}
        self._types: list[str] = []
        type_numbers: list[int] = []
        numbers: list[int] = []
        computed = 0
        self._layers: dict[str, list[int]] = {}
        for layer, first in enumerate(grouping.first_ops()):
            call = ops[first].call
            if call is None:
                kind: str = ops[first].kind
                numbers.append(0)
            else:
                kind = spelled.get(call.name) or spelled.setdefault(call.name, type_name(call.name))
                computed += 1
                numbers.append(computed)
            self._types.append(kind)
            layers = self._layers.get(kind)
            if layers is None:
                layers = self._layers[kind] = []
            layers.append(layer)
            type_numbers.append(len(layers))
        self._type_number = array("i", type_numbers)
        self._number = array("i", numbers)

    def types(self) -> list[str]:
        """Functions of all layers."""
        return list(self._types)

    def type(self, layer: int) -> str:
        """Function of a layer in the spelling of labels; the kind of a boundary."""
        return self._types[layer]

    def short(self, layer: int) -> str:
        """Label without the position among compute layers: `conv2d_3`."""
        return f"{self._types[layer]}_{self._type_number[layer]}"

    def layer(self, layer: int) -> str:
        """Label of a layer: `conv2d_3_7`, `input_1`."""
        number = self._number[layer]
        if number:
            return f"{self._types[layer]}_{self._type_number[layer]}_{number}"
        return f"{self._types[layer]}_{self._type_number[layer]}"

    def op(self, op: int) -> str:
        """Label of an op: that of its layer and its pass, `conv2d_3_7:2`."""
        return f"{self.layer(self._grouping.layer_of[op])}:{self._grouping.pass_of[op]}"

    def short_op(self, op: int) -> str:
        """Short label of an op: `conv2d_3:2`."""
        return f"{self.short(self._grouping.layer_of[op])}:{self._grouping.pass_of[op]}"

    def shorts(self) -> list[str]:
        """Short labels of all layers."""
        return [f"{kind}_{count}" for kind, count in zip(self._types, self._type_number, strict=True)]

    def layers(self) -> list[str]:
        """Labels of all layers."""
        return [
            f"{kind}_{count}_{number}" if number else f"{kind}_{count}"
            for kind, count, number in zip(self._types, self._type_number, self._number, strict=True)
        ]

    def ops(self, layers: Sequence[str] | None = None) -> list[str]:
        """Labels of all ops, from labels of all layers: the full ones, or others in their place."""
        names = self.layers() if layers is None else layers
        return [
            f"{names[layer]}:{number}"
            for layer, number in zip(self._grouping.layer_of, self._grouping.pass_of, strict=True)
        ]

    def find_layer(self, text: str) -> int | None:
        """Layer that has exactly this label or short label."""
        found = _LABEL.fullmatch(text)
        if found is None:
            return None
        layers = self._layers.get(found[1])
        position = int(found[2]) - 1
        if layers is None or position >= len(layers):
            return None
        layer = layers[position]
        return layer if text in (self.layer(layer), self.short(layer)) else None

    def find_op(self, text: str) -> int | None:
        """Op that has exactly this label or short label."""
        name, colon, number = text.rpartition(":")
        layer = self.find_layer(name) if colon else None
        if layer is None or not (number.isascii() and number.isdecimal()) or number.startswith("0"):
            return None
        size = self._grouping.size(layer)
        return self._grouping.members(layer)[int(number) - 1] if int(number) <= size else None
