"""What stands around an item: frames, stacks and loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._compose.sums import HERE, shifts_of

if TYPE_CHECKING:
    from tl_viz._plan import Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What stands around an item."""

    frame: str
    """Address of the module in whose frame it stands."""
    copies: int = 1
    """How many copies of the frames around it there are."""
    rounds: int = 1
    """How many passes a frame around it speaks of already."""
    shifts: tuple[int, ...] = HERE
    """How far from its place in the first copy it stands in each copy with weights of its own."""
    noun: str = ""
    """What those copies are called: `layers`; empty where there is one."""
    last: int = 0
    """How far from there it stands in the last copy."""

    def into(self, branch: Branch, frame: str, rounds: int, noun: str) -> Around:
        """Return what stands around the children of an open branch."""
        return Around(
            frame=frame,
            copies=self.copies * branch.copies,
            rounds=rounds,
            shifts=shifts_of(branch, self.shifts),
            noun=noun,
            last=self.last_of(branch),
        )

    def last_of(self, branch: Branch) -> int:
        """Return how far from its place in the first copy everything in a branch stands in the last copy of all."""
        return self.last + (branch.others[-1] - branch.first if branch.others else 0)
