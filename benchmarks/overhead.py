"""What a trace costs: time over the raw forward, memory, import, saving and loading, each against its bar.

    uv run python benchmarks/overhead.py [--quick]

Times are thread CPU time on one torch thread with garbage collection on, medians of repetitions in which the raw
forward and every way of recording take turns. "Derived" means that the table of ops was read, which needs labels,
layers, passes, edges, distances, costs and source lines of all ops. `--quick` takes fewer repetitions and leaves the
longest loop out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import networks
import torch
from networks import Network
from rows import Row, show, write
from stopwatch import Timing, paired
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import tl_torch as tl
from tl_core import Trace, op_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
RESULT = HERE / "results" / "overhead.json"
REPETITIONS = {"mlp": 101, "resnet18": 41, "gpt2": 11, "loop500": 15, "loop17000": 3}
QUICK = {"mlp": 31, "resnet18": 5, "gpt2": 3, "loop500": 5}
US = 1e6


class CloneEveryOutput(TorchDispatchMode):
    """The least that anybody could do: keep a copy of everything that a kernel returns."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.kept.append(tree_map_only(torch.Tensor, torch.clone, result))
        return result


def cloned(network: Network) -> list[object]:
    """Run the network under the five-line mode."""
    with CloneEveryOutput() as mode:
        mode.kept = []
        network.run()
    return mode.kept


class CallOn(TorchFunctionMode):
    """The least that any recording through torch's function seam costs."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs) if kwargs else func(*args)


def idle(network: Network) -> object:
    """Run the network under a mode that does nothing."""
    with CallOn():
        return network.run()


def traced(network: Network, save: str = "all") -> Trace:
    """Record the network."""
    return tl.trace(network.model, network.args, network.kwargs, save=save)


def read_table(trace: Trace) -> Trace:
    """Derive everything that the table of ops shows: the 25 columns of `trace.to_pandas()`."""
    op_table(trace)
    return trace


def ways_of(network: Network) -> dict[str, Callable[[], object]]:
    """Everything that is measured on a network, by name."""
    return {
        "recorded": lambda: traced(network),
        "derived": lambda: read_table(traced(network)),
        "none": lambda: traced(network, "none"),
        "clone": lambda: cloned(network),
        "idle": lambda: idle(network),
    }


def forward_rows(name: str, repetitions: int) -> Iterator[Row]:
    """Cost an op and ratios of one network, with gradients and without."""
    network = networks.build(name)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            count = sum(op.kind == "op" for op in traced(network).ops)
            timings = paired(network.run, ways_of(network), repetitions)
        yield from timed_rows(name, f"{network.name}, {'grad' if grad else 'no grad'}", count, timings)


def timed_rows(name: str, title: str, count: int, timings: dict[str, Timing]) -> Iterator[Row]:
    """Turn the timings of one network into rows."""
    real = name in {"resnet18", "gpt2"}

    def cost(way: str) -> float:
        return timings[way].over_s / count * US

    note = f"{count:,} ops, raw {timings['recorded'].raw_s * 1e3:.3g} ms"
    yield Row(
        measure="recorded, full save",
        network=title,
        value=cost("recorded"),
        unit="us/op",
        bar=None if real else 25,
        note=note,
    )
    yield Row(
        measure="derived, full save", network=title, value=cost("derived"), unit="us/op", bar=None if real else 40
    )
    yield Row(
        measure="derived, full save: ratio", network=title, value=timings["derived"].ratio, unit="x raw",
        bar=1.2 if real else None,
    )  # fmt: skip
    yield Row(
        measure='recorded, save="none": ratio', network=title, value=timings["none"].ratio, unit="x raw",
        bar=1.15 if real else None, note=f"{cost('none'):.1f} us/op",
    )  # fmt: skip
    yield Row(
        measure="for comparison: clone every output", network=title, value=timings["clone"].ratio, unit="x raw",
        note=f"{cost('clone'):.1f} us/op, kernels instead of functions",
    )  # fmt: skip
    yield Row(
        measure="for comparison: a function mode that does nothing", network=title, value=timings["idle"].ratio,
        unit="x raw", note=f"{cost('idle'):.1f} us/op",
    )  # fmt: skip


def growth_rows(rows: list[Row]) -> Iterator[Row]:
    """Cost an op of the long loop over that of the short one."""
    for measure in ("recorded, full save", "derived, full save"):
        for grad in ("grad", "no grad"):
            short, long = (
                next((row.value for row in rows if row.measure == measure and row.network == title), None)
                for title in (f"loop, 3,001 ops, {grad}", f"loop, 102,001 ops, {grad}")
            )
            if short is not None and long is not None:
                yield Row(
                    measure="102,001 ops against 3,001: cost an op", network=f"{measure}, {grad}", value=long / short,
                    unit="x", bar=1.2,
                )  # fmt: skip


def probe(*words: str) -> dict[str, float]:
    """Run `probe.py` in a process of its own."""
    command = [sys.executable, str(HERE / "probe.py"), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def peak(way: str, network: str) -> float:
    """Growth of the resident set in MB: the median of three processes, as the system may take pages away meanwhile."""
    return median(probe("peak", way, network)["growth_mb"] for _ in range(3))


def memory_rows() -> Iterator[Row]:
    """Peak memory over the raw forward, and memory of the records."""
    titles = {"chain": "chain of 64 MB activations", "resnet18": "resnet18, 16 images"}
    for network, title in titles.items():
        raw = peak("raw", network)
        for way, label in (("none", 'save="none"'), ("site", "one site saved")):
            found = peak(way, network)
            yield Row(
                measure="peak memory over the raw forward", network=f"{title}, {label}", value=found / raw,
                unit="x raw", bar=1.05, note=f"{found:.0f} MB against {raw:.0f} MB",
            )  # fmt: skip
    found = probe("record")
    yield Row(
        measure="memory beside payloads", network="loop, recorded", value=found["recorded"], unit="B/op", bar=1536
    )
    yield Row(measure="memory beside payloads", network="loop, derived", value=found["derived"], unit="B/op", bar=1536)


def repeated_rows() -> Iterator[Row]:
    """Cost of later traces, with the earlier ones kept and dropped."""
    for way in ("alive", "dropped"):
        runs = [probe("repeat", way) for _ in range(3)]
        for which, bar in (("first", None), ("tenth", 40)):
            yield Row(
                measure=f"{which} trace of a process, derived", network=f"loop, 3,001 ops, earlier traces {way}",
                value=median(run[which] for run in runs), unit="us/op", bar=bar,
            )  # fmt: skip


def child_seconds(code: str) -> float:
    """CPU time of a fresh Python that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_row(repetitions: int) -> Row:
    """`import torchlens` over bare Python, in CPU time of a fresh process."""
    pairs = [(child_seconds("pass"), child_seconds("import torchlens")) for _ in range(repetitions)]
    value = (median(pair[1] for pair in pairs) - median(pair[0] for pair in pairs)) * 1e3
    return Row(measure="import torchlens over bare Python", network="", value=value, unit="ms", bar=20)


def bundle_rows(repetitions: int) -> Iterator[Row]:
    """Save GPT-2's trace, and load it lazily; wall time."""
    network = networks.build("gpt2")
    with torch.no_grad():
        trace = traced(network)
    label = next(op.label for op in trace.ops if op.func_name == "scaled_dot_product_attention")
    saving: list[float] = []
    loading: list[float] = []
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "gpt2.tlspec"
            start = perf_counter()
            trace.save(bundle)
            seconds = perf_counter() - start
            files = [path for path in bundle.rglob("*") if path.is_file()]
            size = sum(path.stat().st_size for path in files)
            saving.append(seconds - written_once(Path(folder), files))
            start = perf_counter()
            assert tl.load(bundle, lazy=True).ops[label].out is not None
            loading.append(perf_counter() - start)
    yield Row(
        measure="save, over writing the bytes once", network="GPT-2 small", value=median(saving), unit="s", bar=0.2,
        note=f"{size / 1e6:.0f} MB",
    )  # fmt: skip
    yield Row(measure="files of the bundle", network="GPT-2 small", value=len(files), unit="files", bar=6)
    yield Row(
        measure="load lazily, read one activation",
        network="GPT-2 small",
        value=median(loading) * 1e3,
        unit="ms",
        bar=50,
    )


def written_once(folder: Path, files: list[Path]) -> float:
    """Seconds to write what the files hold into one file and to flush it to the disk."""
    held = [path.read_bytes() for path in files]
    start = perf_counter()
    with (folder / "once").open("wb") as target:
        target.writelines(held)
        target.flush()
        os.fsync(target.fileno())
    return perf_counter() - start


def measured_apart(name: str, quick: bool) -> list[Row]:
    """Measure one part in a process of its own, so that a crash costs that part only."""
    command = [sys.executable, __file__, "--part", name, *(["--quick"] if quick else [])]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode == 0:
        return [Row(**row) for row in json.loads(run.stdout.splitlines()[-1])]
    return [Row(measure="did not finish", network=name, value=run.returncode, unit="exit code", bar=-1000)]


def main() -> None:
    """Measure everything, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and no loop of 17,000 steps")
    parser.add_argument("--only", nargs="*", choices=[*REPETITIONS, "memory", "repeat", "import", "bundle"])
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    repetitions = QUICK if options.quick else REPETITIONS
    few = 3 if options.quick else 9
    parts: dict[str, Callable[[], Iterator[Row] | list[Row]]] = {
        **{name: lambda name=name: forward_rows(name, repetitions[name]) for name in repetitions},
        "memory": memory_rows,
        "repeat": repeated_rows,
        "import": lambda: [import_row(10 * few)],
        "bundle": lambda: bundle_rows(few),
    }
    if options.part is not None:
        print(json.dumps([asdict(row) for row in parts[options.part]()]))
        return
    rows: list[Row] = []
    for name in parts:
        if options.only is None or name in options.only:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows.extend(measured_apart(name, options.quick))
    rows.extend(growth_rows(rows))
    order = list(dict.fromkeys(row.measure for row in rows))
    rows.sort(key=lambda row: order.index(row.measure))
    show(rows, f"Overhead of a trace: {sum(row.verdict == 'missed' for row in rows)} bars missed")
    if options.only is None:
        write(rows, RESULT, quick=options.quick)


if __name__ == "__main__":
    main()
