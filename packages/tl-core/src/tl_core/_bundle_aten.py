"""The profile of dispatched operators on disk: columns like those of the records, in a table of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from tl_core._aten import AtenOp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tl_core._aten import TensorFacts

Natural = Annotated[int, msgspec.Meta(ge=0)]
Text = list[Natural]
"""Positions of strings."""
Facts = list[tuple[tuple[Natural, Natural, Natural], ...]]
"""For each row its tensors: positions of shape, dtype and device."""


class AtenColumns(msgspec.Struct, kw_only=True):
    """All dispatched operators."""

    sequence: list[Natural]
    namespace: Text
    operator: Text
    overload: Text
    schema: Text
    owner_status: Text
    owner_func_call_id: list[Natural | None]
    decomposition_slot: list[Natural]
    module_call_stack: list[tuple[Natural, ...]]
    input_tensor_facts: Facts
    output_tensor_facts: Facts
    mutation_kind: Text
    is_view: list[bool]
    outcome: Text
    exception_type: list[Natural | None]
    payload: list[int]
    """Position of the saved output, or -1."""


def encode_aten(
    rows: Sequence[AtenOp],
    string: Callable[[str], int],
    shape: Callable[[tuple[int, ...]], int],
    payload: Callable[[AtenOp], int],
) -> AtenColumns:
    """Columns of a profile; the callables give the positions of what is stored elsewhere."""

    def facts(tensors: Sequence[TensorFacts]) -> tuple[tuple[int, int, int], ...]:
        return tuple([(shape(tuple(each.shape)), string(each.dtype), string(each.device)) for each in tensors])

    return AtenColumns(
        sequence=[row.sequence for row in rows],
        namespace=[string(row.namespace) for row in rows],
        operator=[string(row.operator) for row in rows],
        overload=[string(row.overload) for row in rows],
        schema=[string(row.schema) for row in rows],
        owner_status=[string(row.owner_status) for row in rows],
        owner_func_call_id=[row.owner_func_call_id for row in rows],
        decomposition_slot=[row.decomposition_slot for row in rows],
        module_call_stack=[tuple([string(label) for label in row.module_call_stack]) for row in rows],
        input_tensor_facts=[facts(row.input_tensor_facts) for row in rows],
        output_tensor_facts=[facts(row.output_tensor_facts) for row in rows],
        mutation_kind=[string(row.mutation_kind) for row in rows],
        is_view=[row.is_view for row in rows],
        outcome=[string(row.outcome) for row in rows],
        exception_type=[None if row.exception_type is None else string(row.exception_type) for row in rows],
        payload=[payload(row) for row in rows],
    )


def decode_aten(
    columns: AtenColumns, strings: Sequence[str], shapes: Sequence[tuple[int, ...]], payload: Callable[[int], object]
) -> list[AtenOp]:
    """Rows of a profile.

    Raises:
        ValueError: columns of different lengths, or a word that no row may hold.
        IndexError: a position that points nowhere.
    """

    def facts(tensors: tuple[tuple[int, int, int], ...]) -> list[dict[str, object]]:
        return [
            {"shape": shapes[shape], "dtype": strings[dtype], "device": strings[device]}
            for shape, dtype, device in tensors
        ]

    texts = ("namespace", "operator", "overload", "schema", "owner_status", "mutation_kind", "outcome")
    rows: list[AtenOp] = []
    names = [name for name in AtenColumns.__struct_fields__ if name != "payload"]
    for values in zip(*[getattr(columns, name) for name in names], columns.payload, strict=True):
        row = dict(zip(names, values, strict=False))
        for name in texts:
            row[name] = strings[row[name]]
        row["module_call_stack"] = [strings[label] for label in row["module_call_stack"]]
        row["input_tensor_facts"] = facts(row["input_tensor_facts"])
        row["output_tensor_facts"] = facts(row["output_tensor_facts"])
        if row["exception_type"] is not None:
            row["exception_type"] = strings[row["exception_type"]]
        found = msgspec.convert(row, AtenOp)
        found.payload = payload(values[-1])
        rows.append(found)
    return rows
