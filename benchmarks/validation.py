"""Cost of `tl.validate` as a ratio to the raw forward pass, and the table of exempt edges.

    python benchmarks/validation.py                  resnet18, GPT-2 small and the loop of 500 steps
    python benchmarks/validation.py --peer           also the released torchlens 2.36.1, in an environment of its own
    python benchmarks/validation.py --exemptions     the edges of the sixty networks that need not answer, by reason

Thread CPU time, one torch thread, medians of rounds in which both run; the raw forward is measured in the same round.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from statistics import median
from time import thread_time_ns

import networks
import torch

import tl_torch as tl

MAX_FORWARDS = {"resnet18": 25.0, "gpt2": 25.0}
"""Bars: how many raw forward passes a validation may take."""
MAX_US_PER_OP = {"loop500": 300.0}
PEER = "torchlens==2.36.1"
RESULTS = Path(__file__).parent / "results" / "validation.json"


def measure(name: str, rounds: int) -> dict[str, object]:
    """Validate a network several times."""
    network = networks.build(name)
    raw: list[int] = []
    validated: list[int] = []
    status = tl.validation(network.model, network.args, network.kwargs)
    with torch.no_grad():
        network.run()
        for _ in range(rounds):
            gc.collect()
            start = thread_time_ns()
            network.run()
            raw.append(thread_time_ns() - start)
            start = thread_time_ns()
            status = tl.validation(network.model, network.args, network.kwargs)
            validated.append(thread_time_ns() - start)
    edges = status.perturbed_parent_count + status.exempted_parent_count
    return {
        "network": network.name,
        "key": name,
        "verdict": status.state,
        "ops": len(status.decisions),
        "edges": edges,
        "exempt": status.exempted_parent_count,
        "exempt_reasons": dict(status.exempted_reason_counts),
        "conditional_reasons": dict(status.conditional_reason_counts),
        "raw_ms": median(raw) / 1e6,
        "validate_ms": median(validated) / 1e6,
        "forwards": median(v / r for v, r in zip(validated, raw, strict=True)),
        "us_per_op": median(validated) / 1e3 / len(status.decisions),
    }


def row(result: dict[str, object]) -> str:
    """One line of the table."""
    return (
        f"{result['network']:<18} {result['verdict']:<8} {result['ops']:>6,} {result['edges']:>6,} {result['exempt']:>6} "
        f"{result['raw_ms']:>9.1f} {result['validate_ms']:>11.1f} {result['forwards']:>9.1f} {result['us_per_op']:>9.0f}"
    )


def missed(result: dict[str, object]) -> list[str]:
    """Bars that a result does not meet."""
    key = str(result["key"])
    found: list[str] = []
    if result["verdict"] != "passed":
        found.append(f"{key}: {result['verdict']}")
    if float(str(result["forwards"])) > MAX_FORWARDS.get(key, float("inf")):
        found.append(f"{key}: {result['forwards']:.1f} forwards, and {MAX_FORWARDS[key]:.0f} are allowed")
    if float(str(result["us_per_op"])) > MAX_US_PER_OP.get(key, float("inf")):
        found.append(f"{key}: {result['us_per_op']:.0f} us an op, and {MAX_US_PER_OP[key]:.0f} are allowed")
    return found


PEER_SCRIPT = """
import sys, warnings
from time import thread_time_ns
warnings.simplefilter("ignore")
import torch, torchlens
import networks
network = networks.build(sys.argv[1])
with torch.no_grad():
    network.run()
    start = thread_time_ns(); network.run(); raw = thread_time_ns() - start
    start = thread_time_ns()
    torchlens.validate(network.model, list(network.args), network.kwargs or {}, scope="forward")
    print((thread_time_ns() - start) / raw)
"""


def peer(name: str, limit: float) -> str:
    """Forward passes that the released tool takes for the same, or what went wrong."""
    pin = torch.__version__.partition("+")[0]
    needs = [PEER, f"torch=={pin}", "torchvision", "transformers"]
    command = ["uv", "run", "--quiet", "--isolated", "--no-project", *(f"--with={need}" for need in needs)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, "python", "-c", PEER_SCRIPT, name], cwd=Path(__file__).parent, env=environment,
            capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"over {limit:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:100]
    return f"{float(done.stdout.split()[-1]):.1f}"


def exemptions() -> None:
    """Print, for each of the sixty networks, which edges were exempt and which answered on a condition."""
    folder = Path(__file__).parents[1] / "packages" / "tl-torch" / "tests" / "networks"
    sys.path[:0] = [str(folder)]
    # The measured networks are another module of the same name.
    del sys.modules["networks"]
    listed = importlib.import_module("networks").NETWORKS
    recipes = importlib.import_module("recipes")
    exempt: Counter[str] = Counter()
    conditional: Counter[str] = Counter()
    edges = 0
    print(f"{'network':<40} {'verdict':<10} {'edges':>6} {'exempt':>6}  reasons; conditions")
    for network in listed:
        case = recipes.build(network)
        torch.manual_seed(11)
        with torch.set_grad_enabled(network.values or network.mode == "train"):
            status = tl.validation(case.model, case.args, case.kwargs)
        own = status.perturbed_parent_count + status.exempted_parent_count
        edges += own
        exempt.update(status.exempted_reason_counts)
        conditional.update(status.conditional_reason_counts)
        print(
            f"{network.name:<40} {status.state:<10} {own:>6,} {status.exempted_parent_count:>6}  "
            f"{dict(status.exempted_reason_counts)}; {dict(status.conditional_reason_counts)}"
        )
    print(
        f"\nall: {edges:,} edges; exempt {dict(exempt.most_common())}; on a condition {dict(conditional.most_common())}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", action="store_true", help="also run the released tool; takes minutes")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that the released tool gets for a network")
    parser.add_argument("--exemptions", action="store_true", help="print the table of exempt edges, measure nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if options.exemptions:
        exemptions()
        return 0
    names = ["resnet18", "gpt2", "loop500"]
    print(
        f"{'network':<18} {'verdict':<8} {'ops':>6} {'edges':>6} {'exempt':>6} {'raw ms':>9} {'validate ms':>11} {'forwards':>9} {'us an op':>9}"
    )
    results = [measure(name, options.rounds) for name in names]
    for result in results:
        print(row(result))
    for result in results:
        print(
            f"\n{result['network']}: exempt {result['exempt_reasons']}, on a condition {result['conditional_reasons']}"
        )
    found: dict[str, object] = {"results": results}
    if options.peer:
        found["peer_forwards"] = {name: peer(name, options.limit) for name in names}
        print(f"\n{PEER}, forwards: {found['peer_forwards']}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    failures = [text for result in results for text in missed(result)]
    print("\n" + ("\n".join(failures) if failures else "every bar is met"))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
