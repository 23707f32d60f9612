"""`save=`: what it accepts, and the decision for every op of a running capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, cast, final

from tl_core._caller import warn_caller
from tl_core._errors import ArgumentTypeError, TorchLensWarning
from tl_core._find import state_of
from tl_core._hint import leaf_hint
from tl_core._match import Check, LiveFacts, call_matches, live_check
from tl_core._selector import (
    CONSTRUCTORS,
    InModule,
    Label,
    ModuleOutput,
    Predicate,
    Selector,
    leaves,
    where,
)
from tl_core._site import LiveNames, Sites, live_sites
from tl_core._trace import Trace

if TYPE_CHECKING:
    from tl_core._record import ModuleCallRecord, OpRecord

SaveOption = str | Selector | Predicate | Sequence["str | Selector | Predicate"]
"""`"all"`, `"none"`, a label, a selector, a predicate, or a list of the last three."""

ACCEPTED = (
    'save="all" or "none"; a selector such as tl.func("relu"), tl.module("layer1.0") or tl.in_module("layer1"); '
    "a label with like=; a function of an op that returns a bool; or a list of these"
)


@final
class SavePolicy:
    """The decision of `save=` for every op: made when it appears, and once more when a module call returns it."""

    __slots__ = ("_facts", "_items", "_outputs", "_sites", "asked", "mode", "needs_exit")

    def __init__(
        self,
        mode: Literal["all", "none", "some"],
        selectors: Sequence[Selector] = (),
        sites: Sites | None = None,
        containers: frozenset[str] = frozenset(),
    ) -> None:
        self.mode: Literal["all", "none", "some"] = mode
        """`some` means that `wants` has to be asked."""
        self.asked = " | ".join(map(repr, selectors)) or repr(mode)
        """What was asked for, for messages: `'none'`, `func('relu')`."""
        named = {leaf.address for one in selectors for leaf in leaves(one) if isinstance(leaf, ModuleOutput)}
        self._outputs = sorted(named)
        self.needs_exit = bool(named)
        """Whether `at_exit` has to be asked for what module calls return."""
        self._sites = sites
        self._facts = LiveFacts(remember=self.needs_exit, containers=containers)
        self._items = [_Item(one, live_check(one, self._facts)) for one in selectors]

    def wants(self, record: OpRecord) -> bool:
        """Whether the value of an op that has just appeared is kept; to be asked once for each op, in order."""
        if self.mode != "some":
            return self.mode == "all"
        if self._sites is not None:
            named = self._sites.locate(record)
            if named is not None:
                self._facts.sites[record.index] = named
        return self._judge(record)

    def at_exit(self, record: OpRecord, call: ModuleCallRecord, saved: bool) -> bool:
        """Whether the value of an op is kept now that `call` has returned it.

        Args:
            record: an op that the caller of `call` receives.
            call: the module call that ends.
            saved: whether the value is kept so far.

        Returns:
            True: keep the value, taking it now if it was not kept; False: drop it.
        """
        if not self.needs_exit:
            return saved
        returned = {address for address in self._outputs if call_matches(address, call)}
        if not returned:
            return saved
        self._facts.exits.setdefault(record.index, set()).update(returned)
        return self._judge(record)

    def finish(self, trace: Trace) -> None:
        """Say what the run did not bring.

        Args:
            trace: the finished trace.

        Raises:
            DivergenceError: a site of the trace given as `like=` was not reached, or had another shape.

        Warns:
            TorchLensWarning: a selector matched nothing (code `selector_matched_nothing`).
        """
        if self._sites is not None:
            self._sites.check(trace)
        for item in self._items:
            if not (item.matched or item.kept):
                warn_caller(_matched_nothing(item.selector, trace))

    def _judge(self, record: OpRecord) -> bool:
        wanted = False
        for item in self._items:
            if item.check(record):
                wanted = True
                if not self.needs_exit:
                    item.matched = True
                else:
                    item.kept.add(record.index)
            elif self.needs_exit:
                item.kept.discard(record.index)
        return wanted


@final
class _Item:
    """One of the selectors that `save=` was given."""

    __slots__ = ("check", "kept", "matched", "selector")

    def __init__(self, selector: Selector, check: Check) -> None:
        self.selector = selector
        self.check = check
        self.matched = False
        """Whether some op was wanted, where that cannot be taken back."""
        self.kept: set[int] = set()
        """Ops that are wanted so far, where the exit of a module can still change that."""


def save_policy(save: SaveOption, like: Trace | None = None, names: LiveNames | None = None) -> SavePolicy:
    """Read what `save=` was given.

    Args:
        save: `"all"`, `"none"`, a selector, a label, a function of an op, or a list of selectors, labels and functions.
        like: an earlier trace in which labels are looked up.
        names: what the model makes known before it runs, for messages.

    Returns:
        The decision for every op of one run; make a new one for the next.

    Raises:
        ArgumentTypeError: `save` or `like` is of another type (codes `save_invalid`, `like_invalid`).
        ConfigurationError: a label without `like=` (`live_label_needs_like`), or one that the trace does not have
            (`unknown_label`).

    Example:
        >>> save_policy("all").mode
        'all'
    """
    if like is not None and not isinstance(like, Trace):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ArgumentTypeError(
            f"like= takes an earlier trace of the model, and was given {_shown(like)}.",
            code="like_invalid",
            remedy="first = tl.trace(model, x); tl.trace(model, x, save=..., like=first)",
            given=_shown(like),
        )
    if isinstance(save, str) and save in ("all", "none"):
        return SavePolicy("all" if save == "all" else "none")
    given = list(cast("Sequence[object]", save)) if isinstance(save, (list, tuple)) else [save]
    selectors = [_selector(one, cast("object", save)) for one in given]
    if not selectors:
        return SavePolicy("none")
    inside = any(isinstance(leaf, InModule) for one in selectors for leaf in leaves(one))
    containers = names.containers() if inside and names is not None else frozenset[str]()
    return SavePolicy("some", selectors, live_sites(selectors, like, "save", names), containers)


def _selector(given: object, save: object) -> Selector:
    if isinstance(given, Selector):
        return given
    if isinstance(given, str) and given and not (given in ("all", "none") and save is not given):
        return Label(given)
    if any(given is constructor for constructor in CONSTRUCTORS):
        name = cast("Callable[..., object]", given).__name__
        raise ArgumentTypeError(
            f"save= was given the function tl.{name} itself, not what it makes.",
            code="save_invalid",
            remedy=f'call it: save=tl.{name}("...")',
            given=_shown(given),
            accepted=ACCEPTED,
        )
    if callable(given) and not isinstance(given, type):
        return where(cast("Callable[..., bool | None]", given))
    inside = "" if save is given else f" inside {_shown(save)}"
    raise ArgumentTypeError(
        f"save= was given {_shown(given)}{inside}, which selects no ops.",
        code="save_invalid",
        remedy=ACCEPTED,
        given=_shown(given),
        accepted=ACCEPTED,
    )


def _shown(value: object) -> str:
    text = repr(value)
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return text if value is None or isinstance(value, (bool, str)) else f"{text} ({type(value).__name__})"


def _matched_nothing(selector: Selector, trace: Trace) -> TorchLensWarning:
    state = state_of(trace)
    return TorchLensWarning(
        f"save={selector!r} matched none of the {len(state.records.ops)} ops of {trace.name!r}; "
        f"no value was saved for it.{''.join(leaf_hint(leaf, state) for leaf in leaves(selector))}",
        code="selector_matched_nothing",
    )
