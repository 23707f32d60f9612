"""Selectors: what a run saves, edits or finds, said as a small algebra over ops.

A selector holds no trace and reads no value. `_save` evaluates it op by op while a run is recorded; `_find` evaluates
it on a finished trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Never, final

from tl_core._context import OpContext
from tl_core._errors import ArgumentTypeError, ConfigurationError
from tl_core._signature import fitting

Predicate = Callable[[OpContext], bool | None]
"""Tells whether an op is meant; `None` counts as no."""


class Selector:
    """Base of all selectors: `a & b` (both), `a | b` (either) and `~a` (everything else)."""

    __slots__ = ()

    def __and__(self, other: Selector) -> And:
        return And(self, _operand(self, "&", other))

    def __or__(self, other: Selector) -> Or:
        return Or(self, _operand(self, "|", other))

    def __rand__(self, other: object) -> Never:
        raise _no_operand(self, "&", other)

    def __ror__(self, other: object) -> Never:
        raise _no_operand(self, "|", other)

    def __invert__(self) -> Selector:
        return self.inner if isinstance(self, Not) else Not(self)

    def __bool__(self) -> Never:
        raise ArgumentTypeError(
            f"`{self!r}` has no truth value: `and`, `or` and `not` cannot combine selectors.",
            code="selector_truth_value",
            remedy="use `a & b`, `a | b` and `~a`",
            selector=repr(self),
        )


def _operand(selector: Selector, sign: str, other: object) -> Selector:
    """What stands beside a selector: another one.

    Raises:
        ArgumentTypeError: it is none.
    """
    if isinstance(other, Selector):
        return other
    raise _no_operand(selector, sign, other)


def _no_operand(selector: Selector, sign: str, other: object) -> ArgumentTypeError:
    if isinstance(other, str):
        remedy = f"tl.func({other!r}) for the function, tl.module({other!r}) for the module, tl.label({other!r}) for the label"
    elif callable(other):
        remedy = "tl.where(function) makes a selector of a function of an op"
    else:
        remedy = "combine selectors: tl.func(...), tl.module(...), tl.in_module(...), tl.label(...), tl.where(...)"
    return ArgumentTypeError(
        f"`{sign}` combines {selector!r} with another selector, and was given {other!r} ({type(other).__name__}).",
        code="selector_argument_invalid",
        remedy=remedy,
        selector=repr(selector),
        given=repr(other),
    )


@final
@dataclass(frozen=True, slots=True)
class Func(Selector):
    """Ops of one function; made by `func`."""

    name: str
    """`relu` also means `relu_`; `relu_` means the in-place one only."""

    def __repr__(self) -> str:
        return f"func({self.name!r})"


@final
@dataclass(frozen=True, slots=True)
class ModuleOutput(Selector):
    """What a module call hands to its caller; made by `module`."""

    address: str
    """`layer1.0` for all calls, `layer1.0:2` for the second one."""

    def __repr__(self) -> str:
        return f"module({self.address!r})"


@final
@dataclass(frozen=True, slots=True)
class InModule(Selector):
    """Ops executed while a module call runs; made by `in_module`."""

    address: str
    """`layer1.0` for all calls, `layer1.0:2` for the second one."""

    def __repr__(self) -> str:
        return f"in_module({self.address!r})"


@final
@dataclass(frozen=True, slots=True)
class Label(Selector):
    """The ops of one label; made by `label`."""

    label: str
    """An op label, a layer label (all its passes) or the short form of either."""

    def __repr__(self) -> str:
        return f"label({self.label!r})"


@final
@dataclass(frozen=True, slots=True)
class LabelContains(Selector):
    """Ops whose label contains a text; made by `label_contains`."""

    text: str
    """Compared with the full op label, such as `conv2d_3_7:1`."""

    def __repr__(self) -> str:
        return f"label_contains({self.text!r})"


@final
@dataclass(frozen=True, slots=True)
class Where(Selector):
    """Ops for which a predicate holds; made by `where`."""

    predicate: Predicate
    name_hint: str | None = None
    """How messages and reprs call the predicate."""

    def __repr__(self) -> str:
        return f"where({self.name_hint or predicate_name(self.predicate)})"


@final
@dataclass(frozen=True, slots=True)
class And(Selector):
    """Ops that both sides select."""

    left: Selector
    right: Selector

    def __repr__(self) -> str:
        return _written(self)


@final
@dataclass(frozen=True, slots=True)
class Or(Selector):
    """Ops that either side selects."""

    left: Selector
    right: Selector

    def __repr__(self) -> str:
        return _written(self)


@final
@dataclass(frozen=True, slots=True)
class Not(Selector):
    """Ops that the inner selector leaves out."""

    inner: Selector

    def __repr__(self) -> str:
        return f"~({self.inner!r})" if isinstance(self.inner, (And, Or)) else f"~{self.inner!r}"


def spine(selector: Selector) -> tuple[Selector, list[And | Or]]:
    """The leftmost part of a combination, and what it is combined with, step by step outwards.

    Programs combine thousands of selectors one by one, more than Python calls itself.
    """
    nodes: list[And | Or] = []
    while isinstance(selector, (And, Or)):
        nodes.append(selector)
        selector = selector.left
    nodes.reverse()
    return selector, nodes


def _written(selector: And | Or) -> str:
    inner, nodes = spine(selector)
    text, loose = repr(inner), False
    for node in nodes:
        if isinstance(node, Or):
            text, loose = f"{text} | {node.right!r}", True
        else:
            right = f"({node.right!r})" if isinstance(node.right, Or) else repr(node.right)
            text, loose = f"({text}) & {right}" if loose else f"{text} & {right}", False
    return text


Leaf = Func | ModuleOutput | InModule | Label | LabelContains | Where
"""The selectors that look at an op themselves."""


@fitting("tl.func")
def func(name: str) -> Func:
    """Select the ops of one function.

    Args:
        name: the function as people know it. `relu` also selects the in-place `relu_`, and `relu_` only that one;
            the spelling of labels (`batchnorm` for `batch_norm`) works too.

    Returns:
        A selector.

    Raises:
        ArgumentTypeError: `name` is not a text.
        ConfigurationError: `name` is empty.

    Example:
        >>> func("relu") | func("gelu")
        func('relu') | func('gelu')
    """
    return Func(_text("func", "name", name))


@fitting("tl.module")
def module(address: str) -> ModuleOutput:
    """Select what calls of a module hand to their caller.

    Args:
        address: dotted path of the module (`layer1.0`; the empty string is the model itself) for all of its calls,
            or a call label (`layer1.0:2`) for one.

    Returns:
        A selector. It is decided when the call ends, so hooks that replace the output are respected.

    Raises:
        ArgumentTypeError: `address` is not a text.

    Example:
        >>> module("layer1.0") & ~func("relu")
        module('layer1.0') & ~func('relu')
    """
    return ModuleOutput(_text("module", "address", address, empty=True))


@fitting("tl.in_module")
def in_module(address: str) -> InModule:
    """Select every op executed while a module runs, in itself or in the modules it calls.

    Args:
        address: dotted path of the module (`layer1.0`) for all of its calls, or a call label (`layer1.0:2`) for one.
            A `ModuleList` or `ModuleDict`, which is never called, stands for the modules that it holds.

    Returns:
        A selector. Inputs, buffers, constants and model outputs are not executed and never match.

    Raises:
        ArgumentTypeError: `address` is not a text.

    Example:
        >>> in_module("encoder:2")
        in_module('encoder:2')
    """
    return InModule(_text("in_module", "address", address, empty=True))


@fitting("tl.label")
def label(label: str) -> Label:
    """Select ops by their label.

    Args:
        label: an op label (`conv2d_3_7:2`), a layer label for all passes (`conv2d_3_7`), or the short form of either
            (`conv2d_3`, `conv2d_3:2`).

    Returns:
        A selector. A label is known only when a run is over: in `save=` it names a site of the earlier trace given
        as `like=`.

    Raises:
        ArgumentTypeError: `label` is not a text.
        ConfigurationError: `label` is empty.

    Example:
        >>> label("conv2d_3_7")
        label('conv2d_3_7')
    """
    return Label(_text("label", "label", label))


@fitting("tl.label_contains")
def label_contains(text: str) -> LabelContains:
    """Select ops whose full label contains `text`.

    Args:
        text: compared with labels such as `conv2d_3_7:1`, case and all.

    Returns:
        A selector. As with `label`, `save=` needs the earlier trace given as `like=`.

    Raises:
        ArgumentTypeError: `text` is not a text.
        ConfigurationError: `text` is empty.

    Example:
        >>> label_contains("conv2d")
        label_contains('conv2d')
    """
    return LabelContains(_text("label_contains", "text", text))


@fitting("tl.where")
def where(predicate: Predicate, name_hint: str | None = None) -> Where:
    """Select the ops for which a function holds.

    Args:
        predicate: called once for each op; returns `True`, `False` or `None` (no). While a run is recorded (`save=`)
            it sees an `OpContext`, which has no value and no label yet; on a finished trace (`find`) the `Op` itself.
        name_hint: how messages and reprs call it; default is the name of the function.

    Returns:
        A selector.

    Raises:
        ArgumentTypeError: `predicate` cannot be called.

    Example:
        >>> where(lambda op: len(op.shape) == 4, name_hint="images")
        where(images)
    """
    if isinstance(predicate, Selector) or not callable(predicate):
        raise ArgumentTypeError(
            f"where() takes a function of an op, and was given {predicate!r}.",
            code="selector_argument_invalid",
            remedy="tl.where(lambda op: op.shape[-1] == 10)",
            selector="where",
            given=repr(predicate),
        )
    return Where(predicate, name_hint)


CONSTRUCTORS: tuple[Callable[..., Selector], ...] = (func, module, in_module, label, label_contains, where)
"""The functions that make selectors."""


def predicate_name(predicate: Callable[..., object]) -> str:
    """How messages call a predicate: the name of a function, the type of another callable."""
    name = getattr(predicate, "__name__", None)  # a partial or an object with __call__ has none
    return name if isinstance(name, str) else type(predicate).__name__


def leaves(selector: Selector) -> list[Leaf]:
    """The selectors inside `selector` that look at an op themselves, from left to right."""
    match selector:
        case And() | Or():
            inner, nodes = spine(selector)
            return leaves(inner) + [leaf for node in nodes for leaf in leaves(node.right)]
        case Not(inner):
            return leaves(inner)
        case Func() | ModuleOutput() | InModule() | Label() | LabelContains() | Where():
            return [selector]
        case _:
            raise foreign_selector(selector)


def foreign_selector(selector: object) -> ArgumentTypeError:
    """The refusal of a subclass of `Selector` that is not one of ours."""
    return ArgumentTypeError(
        f"{type(selector).__name__} is not a selector of TorchLens; the set of selectors is closed.",
        code="selector_argument_invalid",
        remedy="express the condition as where(lambda op: ...)",
        given=repr(selector),
    )


_LONGEST = 60
"""Longest text of a foreign value in a message."""


def _text(selector: str, argument: str, value: object, *, empty: bool = False) -> str:
    if not isinstance(value, str):
        text = " ".join(repr(value).split())
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
        name = getattr(value, "__name__", None) if callable(value) else None  # functions and classes have one
        raise ArgumentTypeError(
            f"{selector}() takes {argument} as a text, and was given {text} ({type(value).__name__}).",
            code="selector_argument_invalid",
            remedy=f'tl.{selector}("{name if selector == "func" and name else "..."}")',
            selector=selector,
            given=text,
        )
    if not value and not empty:
        raise ConfigurationError(
            f"{selector}() was given an empty {argument}, which selects nothing.",
            code="selector_argument_invalid",
            remedy=f'tl.{selector}("...")',
            selector=selector,
            given=value,
        )
    return value
