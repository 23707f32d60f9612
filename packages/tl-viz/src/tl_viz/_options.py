"""The options of `draw`, checked before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, cast, get_args

from tl_core import ArgumentTypeError, ConfigurationError, Op, Selector, check_values
from tl_viz._layout import Direction  # noqa: TC001 - read when values are checked
from tl_viz._plan import Collapse  # noqa: TC001 - the same
from tl_viz._theme import THEMES, Theme

View = Literal["rolled", "unrolled"]
Layout = Literal["auto", "rank", "dot"]
InterventionMode = Literal["node_mark", "as_node"]
PanelMode = Literal["forward", "class", "init+forward"]
CodePanel = bool | PanelMode | Callable[[object], str]
Measure = str | Callable[[Op], float] | Mapping[str, float]
"""A number for each op: the name of an attribute such as `cost.flops`, a function of the op, or a mapping from labels."""

MEASURES = {
    "flops": "cost.flops",
    "macs": "cost.macs",
    "time": "cost.duration",
    "bytes": "size_bytes",
}
"""Short names for the numbers that are asked for most."""

T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a picture shall look like. `draw` says what each option does."""

    collapse: Collapse
    view: View
    depth: int | None
    module: str | None
    layout: Layout
    direction: Direction
    fold_repeats: bool
    show_containers: bool
    show_orphans: bool
    show_buffers: bool
    intervention_mode: InterventionMode
    code_panel: CodePanel
    color_by: Measure | None
    size_by: Measure | None
    label: tuple[str, ...]
    highlight: Selector | None
    theme: Theme
    deadline_s: float
    planner_budget: float | None = None

    def __post_init__(self) -> None:
        check_values(self, "tl.draw")


def check_choice(name: str, value: object, choices: tuple[T, ...]) -> T:
    """Return `value` if it is one of `choices`.

    Raises:
        ConfigurationError: it is not.
    """
    if value in choices:
        return cast("T", value)
    known = ", ".join([repr(choice) for choice in choices])
    raise ConfigurationError(
        f"draw({name}={value!r}) is not a choice; there are {known}.",
        code=f"{name}_invalid",
        remedy=f"write {name}={choices[0]!r}",
        option=name,
        value=value,
        choices=choices,
    )


def check_collapse(value: object) -> Collapse:
    """Return `value` if it is a way to collapse.

    Raises:
        ConfigurationError: it is an unknown word (`collapse_mode_invalid`), a number outside 0 to 1, or of another type
            (`collapse_level_invalid`).
    """
    if isinstance(value, str):
        if value in {"auto", "none", "max"}:
            return cast("Collapse", value)
        raise ConfigurationError(
            f"draw(collapse={value!r}) is not a choice; there are 'auto', 'none', 'max' and numbers from 0 to 1.",
            code="collapse_mode_invalid",
            remedy="write collapse='auto'",
            value=value,
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise ConfigurationError(
        f"draw(collapse={value!r}) is no level; a level is a number from 0 (nothing closed) to 1 (as closed as can be).",
        code="collapse_level_invalid",
        remedy="write collapse=0.5, or collapse='auto'",
        value=value,
    )


def check_depth(value: object) -> int | None:
    """Return `value` if it is None or a whole number above 0.

    Raises:
        ConfigurationError: it is not.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ConfigurationError(
        f"draw(depth={value!r}) is no depth; a depth is a whole number from 1, or None for all.",
        code="depth_invalid",
        remedy="write depth=2",
        value=value,
    )


def check_seconds(name: str, value: object) -> float:
    """Return `value` if it is a positive number.

    Raises:
        ConfigurationError: it is not.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return float(value)
    raise ConfigurationError(
        f"draw({name}={value!r}) must be a number above 0.",
        code=f"{name}_invalid",
        remedy=f"write {name}=20",
        option=name,
        value=value,
    )


def check_theme(value: object) -> Theme:
    """Return the theme that `value` is or names.

    Raises:
        ConfigurationError: there is none of that name.
    """
    if isinstance(value, Theme):
        return value
    return THEMES[check_choice("theme", value, tuple(THEMES))]


def check_panel(value: object) -> CodePanel:
    """Return `value` if it says what the code panel shows.

    Raises:
        ConfigurationError: it is an unknown word.
        ArgumentTypeError: it is neither a truth value, a word nor a function.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_choice("code_panel", value, get_args(PanelMode))
    if callable(value):
        return cast("Callable[[object], str]", value)
    raise ArgumentTypeError(
        f"draw(code_panel={value!r}) must be True, False, a word or a function of the trace.",
        code="option_type",
        remedy="write code_panel=True",
        option="code_panel",
        value=value,
    )


def check_label(value: object) -> tuple[str, ...]:
    """Return the fields of a label.

    Raises:
        ArgumentTypeError: it is not a sequence of names.
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and all(isinstance(field, str) for field in cast("Sequence[object]", value)):
        return tuple(cast("Sequence[str]", value))
    wrong: object = cast("object", value)
    raise ArgumentTypeError(
        f"draw(label={wrong!r}) must be a sequence of names of fields.",
        code="option_type",
        remedy="write label=('name', 'shape', 'params', 'dtype')",
        option="label",
        value=wrong,
    )


def check_selector(value: object) -> Selector | None:
    """Return `value` if it is a selector or None.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if value is None or isinstance(value, Selector):
        return value
    raise ArgumentTypeError(
        f"draw(highlight={value!r}) must be a selector.",
        code="option_type",
        remedy="write highlight=tl.func('relu')",
        option="highlight",
        value=value,
    )
