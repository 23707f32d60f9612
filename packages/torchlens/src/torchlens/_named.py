"""What a word on the command line names in a saved trace: more than `trace[...]` takes, because a shell has no types."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tl_core import AmbiguousOpLookupError, LookupFailedError, func

if TYPE_CHECKING:
    from pathlib import Path

    from tl_core import Buffer, Layer, Module, ModuleCall, Op, Param, Trace

    Thing = Op | Layer | Module | ModuleCall | Param | Buffer


def things_named(trace: Trace, word: str, bundle: Path) -> list[Thing]:
    """Everything that `word` names.

    Args:
        trace: the saved trace.
        word: a label, the address of a module, parameter, buffer or input, a position, or a function.
        bundle: where the trace lies, for messages.

    Returns:
        One thing; several where the word has several meanings, or is a function that ran several times.

    Raises:
        LookupFailedError: nothing has that name.
    """
    try:
        return [trace[word]]
    except AmbiguousOpLookupError:
        return _both(trace, word)
    except LookupFailedError as error:
        found = _others(trace, word)
        if found:
            return found
        raise _refusal(error, word, bundle) from None


def _both(trace: Trace, word: str) -> list[Thing]:
    if word in trace.layers:
        return [trace.layers[word], trace.modules[word]]
    address, _, number = word.rpartition(":")
    return [trace.ops[word], trace.modules[address].calls[int(number) - 1]]


def _others(trace: Trace, word: str) -> list[Thing]:
    if word in trace.params:
        return [trace.params[word]]
    if word in trace.buffers:
        return [trace.buffers[word]]
    if word.isascii() and word.removeprefix("-").isdecimal() and -len(trace) <= int(word) < len(trace):
        return [trace.ops[int(word)]]
    at_address = [op for op in trace.ops if op.address == word and word]
    return [*(at_address[:1] or trace.layers.find(func(word)))] if word else []


def _refusal(error: LookupFailedError, word: str, bundle: Path) -> LookupFailedError:
    """The refusal in words of the command line."""
    hints = [f"torchlens summary {bundle} --level op lists every label"]
    close = cast("tuple[str, ...]", error.fields.get("closest", ()))
    if close:
        spelled = ", ".join(name.partition("['")[2].removesuffix("']") or name for name in close)
        hints.insert(0, f"closest: {spelled}")
    if "count" in error.fields:
        hints = [error.remedy]
        problem = error.problem
    else:
        problem = f"{bundle} has no label, module, parameter, buffer or function {word!r}."
    return LookupFailedError(problem, code=error.code, remedy="; ".join(hints), asked=word)
