"""What module calls receive and what they hand back: the ops behind the values, and which of these are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch

from tl_core import ModuleCallRecord, OpRecord, SavePolicy, packed
from tl_torch._structure import tensors_in
from tl_torch._torch_private import torch_function_disabled

if TYPE_CHECKING:
    from tl_torch._arguments import ArgumentReader
    from tl_torch._ledger import Entry, Ledger
    from tl_torch._snapshot import Keeper

_TENSOR = torch.Tensor

Unchanged = tuple[int, "Entry", "Entry"]
"""A tensor that a function gave back as it was: its identity, its entry since then, and its entry before."""


@final
class Handover:
    """Looks up what stands behind the values that go into and come out of the module calls of one run."""

    __slots__ = ("_keeper", "_known", "_ledger", "_makers", "_policy", "decides")

    def __init__(self, ledger: Ledger, reader: ArgumentReader, policy: SavePolicy, keeper: Keeper) -> None:
        self._ledger = ledger
        self._known = ledger.known
        self._makers = reader.makers
        self._policy = policy
        self.decides = policy.needs_exit
        """Whether it shows at the end of a module call which of its outputs are kept."""
        self._keeper = keeper

    def ops_in(self, value: Any) -> tuple[int, ...]:
        """Indices of the known ops among the tensors inside `value`."""
        if type(value) is _TENSOR:
            entry = self._known.get(id(value))
            if entry is not None and entry.reference() is value:
                record, latest = entry.record, entry.memory.latest
                if type(record) is OpRecord:
                    if latest <= record.index:
                        return packed((record.index,))
                elif latest < 0:
                    return ()
            return self._makers(value)
        return packed([*dict.fromkeys(index for _, tensor in tensors_in(value) for index in self._makers(tensor))])

    def returned(self, value: Any, call: ModuleCallRecord) -> tuple[int, ...]:
        """Indices of the ops that a module call returns; decides once more which of them are kept."""
        with torch_function_disabled():
            for _, tensor in tensors_in(value):
                entry = self._ledger.find(tensor)
                if entry is not None and type(entry.record) is OpRecord:
                    self._decide_again(tensor, entry, entry.record, call)
        return self.ops_in(value)

    def _decide_again(self, tensor: torch.Tensor, entry: Entry, record: OpRecord, call: ModuleCallRecord) -> None:
        if not self._policy.at_exit(record, call, record.payload is not None):
            record.payload = None
        elif record.payload is None:
            record.payload = self._keeper.keep(tensor, entry.memory)

    def leave_unchanged(self, unchanged: list[Unchanged], result: Any) -> list[Unchanged]:
        """Give tensors their former producers where a module call that passed them through does not return them.

        `h.to(h.dtype)` inside a norm gives back `h` itself. The norm goes on with that op's output, but whoever called
        the norm still holds the `h` of before.

        Returns:
            Those that the call returns: for them the caller decides.
        """
        returned = {id(tensor) for _, tensor in tensors_in(result)}
        for key, entry, before in reversed(unchanged):
            if key not in returned and self._known.get(key) is entry:
                self._known[key] = before
        return [one for one in unchanged if one[0] in returned]
