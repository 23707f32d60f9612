"""The random generators during a validation: each call draws what it drew when it was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tl_core._record import RANDOM_STATE_KEY

if TYPE_CHECKING:
    from tl_core._record import CallRecord
    from tl_core._replay import Examiner


@final
class RandomReplay:
    """Puts the generators where they stood before each call of a trace, in order."""

    def __init__(self, examiner: Examiner, start: object, *, noted: bool, moved: bool = False) -> None:
        """Begin with the first call.

        Args:
            examiner: whose generators they are.
            start: where they stood before the run; None where nobody knows.
            noted: whether each call that drew carries the state before it, and no other call drew.
            moved: whether the values lie on other devices now, whose generators give other numbers.
        """
        self._examiner = examiner
        self._noted = noted
        self._moved = moved
        self._known = self._was_known = start is not None
        self._state = start
        self._before: object = None

    @property
    def doubt(self) -> str:
        """Why the call that ran last may have drawn other numbers than it did; empty where it cannot have."""
        if self._moved:
            return "random_device_moved"
        if self._noted:
            return ""
        return "random_state_moved" if self._was_known else "random_state_unknown"

    @property
    def state(self) -> object:
        """Where the generators stand after the calls so far; None where that is not known."""
        return self._state if self._known else None

    def enter(self, call: CallRecord) -> object:
        """Get ready for a call; returns where the generators stand before it."""
        examiner = self._examiner
        noted = None if call.meta is None else call.meta.get(RANDOM_STATE_KEY)
        self._was_known = self._known
        if noted is not None:
            self._known = self._was_known = True
            self._state = noted
        elif self._noted:
            self._before = None
            return None
        if self._state is not None and (self._noted or examiner.random_state() != self._state):
            examiner.restore_random_state(self._state)
        self._before = examiner.random_state() if self._state is None else self._state
        return self._before

    def leave(self) -> bool:
        """Take in that the call has run; returns whether it drew."""
        if self._noted:
            return self._before is not None
        self._state = self._examiner.random_state()
        return self._state != self._before

    def again(self) -> None:
        """Put the generators back to before the call."""
        if self._before is not None:
            self._examiner.restore_random_state(self._before)

    def resume(self) -> None:
        """Put the generators to after the call, where it ran again in between."""
        if not self._noted:
            self._examiner.restore_random_state(self._state)

    def lose(self) -> None:
        """Note that a call could not be repeated, and that nobody knows how much it drew."""
        self._known = False
