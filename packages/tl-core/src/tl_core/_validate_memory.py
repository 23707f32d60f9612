"""What the buffers of a model hold after each recorded write, computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tl_core._record import AliasRead, OpRecord
from tl_core._replay import leaves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_core._record import CallRecord, Records
    from tl_core._validate_call import Verdict

MAX_VIEW_DEPTH = 16
"""How many views of views are followed to the buffer whose memory they show."""


@final
class BufferMemory:
    """What recorded writes leave in the buffers of the model, computed again."""

    def __init__(self, records: Records, sharing: Iterable[str] = ()) -> None:
        self._address: dict[int, str] = {op.index: op.address for op in records.ops if op.kind == "buffer"}
        """By op index: the buffer whose memory its value is."""
        self._reread = [op for op in records.ops if op.kind == "buffer" and op.parents]
        self._ops = records.ops
        self.written: dict[str, object] = {}
        self.unsure = set(sharing)
        self.read_again: list[tuple[OpRecord, object]] = []
        self._next = 0

    def after(self, call: CallRecord, outputs: Sequence[OpRecord], verdict: Verdict) -> None:
        """Take in the writes of a call that was just replayed."""
        if not self._address or verdict.replayed is None or verdict.arguments is None:
            return
        written = verdict.replayed.written
        if written and outputs:
            self.note_reads(outputs[0].index)
        for given, left in written:
            same = [
                op
                for op in outputs
                if op.position < len(made := verdict.replayed.outputs) and made[op.position] is left
            ]
            for leaf in leaves_of(call):
                base = leaf.base if isinstance(leaf, AliasRead) else leaf
                if verdict.arguments.value(leaf) is given and isinstance(base, OpRecord):
                    self._note(base, left, same)

    def note_reads(self, before: int) -> None:
        """Settle what the buffers held when they were read again by ops older than `before`."""
        while self._next < len(self._reread) and self._reread[self._next].index < before:
            op = self._reread[self._next]
            self._next += 1
            if op.address in self.written and op.address not in self.unsure:
                self.read_again.append((op, self.written[op.address]))

    def _note(self, base: OpRecord, left: object, outputs: Sequence[OpRecord]) -> None:
        address = self._address.get(base.index)
        if address is None:
            self._note_view(base)
            return
        self.written[address] = left
        for op in outputs:
            self._address[op.index] = address

    def _note_view(self, base: OpRecord) -> None:
        """A write into something computed: a buffer upstream may share its memory."""
        for _ in range(MAX_VIEW_DEPTH):
            address = self._address.get(base.index)
            if address is not None:
                self.unsure.add(address)
            first = base.call.args[0] if base.call is not None and base.call.args else None
            base_of = first.base if isinstance(first, AliasRead) else first
            if not isinstance(base_of, OpRecord):
                return
            base = base_of
