"""Every check of the workspace. `uv run nox` runs the default ones, and so does continuous integration.

Each session syncs its own environment from `uv.lock`; `nox -l` lists them and `nox -s NAME -- ARGS` passes arguments on.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import nox

nox.needs_version = ">=2026.4"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"  # `uv sync` is exact, so a reused environment holds nothing stale
nox.options.error_on_missing_interpreters = False  # a missing Python is reported and counted as skipped
nox.options.download_python = "never"
nox.options.sessions = [
    "lint",
    "typing",
    "tests",
    "stories",
    "docs",
    "slim",
    "undotted",
    "wheels",
    "cadence",
    "floor",
    "networks",
]

ROOT = Path(__file__).parent
REPORT = ROOT / ".nox" / "report.json"
PYTHONS = ["3.11", "3.12", "3.13"]
MAIN_PYTHON = PYTHONS[0]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml"))
NETWORK_TESTS = "packages/tl-torch/tests/networks"  # collected only when named: they need minutes and more libraries
SHARED_ENVIRONMENT = ".nox/workspace"  # the sessions that need all packages and all tools share one
FLOOR = {"torch": "2.4.*", "numpy": "1.26.*", "pandas": "2.2.*"}

REPORT.parent.mkdir(exist_ok=True)
nox.options.report = str(REPORT)

# Byte code that is never written is compiled again in every test process: 3 s for torch alone.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def sync(session: nox.Session, *selection: str) -> None:
    """Make the session's environment exactly what `uv.lock` says for `selection`."""
    location = session.virtualenv.location
    session.run_install(
        "uv",
        "sync",
        "--frozen",
        "--quiet",
        "--no-default-groups",
        f"--python={location}",
        *selection,
        env={"UV_PROJECT_ENVIRONMENT": location},
    )


def workspace(session: nox.Session, *commands: list[str]) -> None:
    """Run commands where every package, every extra and every tool is installed.

    The sessions that need all of it share one environment, which saves compiling torch and its friends once a session.
    """
    environment = {"UV_PROJECT_ENVIRONMENT": SHARED_ENVIRONMENT, "VIRTUAL_ENV": ""}
    base = ["uv", "--quiet", "run", "--frozen", f"--python={MAIN_PYTHON}"]
    everything = ["--all-packages", "--all-extras", "--group=dev"]
    for command in commands:
        session.run(*base, *everything, *command, env=environment, external=True)


def build(session: nox.Session, tree: Path, dist: Path, package: str) -> None:
    """Build one wheel as a release does: without the workspace's sources."""
    session.run_install(
        "uv",
        "build",
        "--quiet",
        "--wheel",
        "--no-sources",
        f"--directory={tree}",
        f"--package={package}",
        f"--out-dir={dist}",
        external=True,
    )


def install_wheels(session: nox.Session, folders: list[Path], package: str, versions: dict[str, str]) -> None:
    """Install a package with the real resolver: siblings at `versions`, the rest at locked versions.

    The siblings' versions are constraints, since an index may hold other distributions of the same names.
    """
    constraints = Path(session.create_tmp()).resolve() / "constraints.txt"
    export(session, constraints, "--all-packages", "--all-extras", "--no-emit-workspace")
    with constraints.open("a") as file:
        file.writelines(f"{name}=={version}\n" for name, version in versions.items())
    links = [f"--find-links={folder}" for folder in folders]
    # uv remembers a wheel by name and version, and these change under the same version.
    fresh = [f"--refresh-package={name}" for name in PACKAGES]
    session.run_install("uv", "pip", "install", "--quiet", *links, *fresh, f"--constraints={constraints}", package)


def tree_versions(tree: Path) -> dict[str, str]:
    """Return the version of each package in a source tree."""
    paths = [tree / "packages" / package / "pyproject.toml" for package in PACKAGES]
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in paths]
    return {project["name"]: project["version"] for project in projects}


def export(session: nox.Session, target: Path, *selection: str) -> None:
    """Write what `uv.lock` says for `selection` as a requirements file."""
    session.run_install(
        "uv",
        "export",
        "--frozen",
        "--quiet",
        "--no-hashes",
        "--no-default-groups",
        f"--output-file={target}",
        *selection,
        external=True,
        silent=True,
    )


def fresh_folder(session: nox.Session, name: str) -> Path:
    """Return an empty folder of this session."""
    folder = Path(session.create_tmp()).resolve() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Format, lint, strict types, import directions, and sibling ranges."""
    workspace(
        session,
        ["uv", "lock", "--check"],
        ["ruff", "check"],
        ["ruff", "format", "--check"],
        ["lint-imports"],
        ["basedpyright", f"--pythonpath={SHARED_ENVIRONMENT}/bin/python"],  # it would take `.venv`
        # uv does not hold workspace members to the ranges that they declare; this does.
        ["uv", "pip", "check"],
    )


@nox.session(venv_backend="none")
def typing(session: nox.Session) -> None:
    """What a user's type checker says about the public names."""
    workspace(
        session,
        ["basedpyright", "--project=tests/typing", f"--pythonpath={SHARED_ENVIRONMENT}/bin/python"],
        ["mypy", "tests/typing"],
    )


@nox.session(python=PYTHONS)
@nox.parametrize("package", PACKAGES)
def tests(session: nox.Session, package: str) -> None:
    """One package's tests, with nothing installed but what that package declares."""
    if not any((ROOT / "packages" / package / "tests").rglob("test_*.py")):
        session.skip(f"{package} has no tests yet")
    sync(session, f"--package={package}", "--group=test")
    session.run("pytest", f"packages/{package}/tests", *session.posargs)


@nox.session(venv_backend="none")
def stories(session: nox.Session) -> None:
    """The tests that need more than one package, and the conventions of the repository."""
    workspace(session, ["pytest", "tests", "--ignore=tests/docs", *session.posargs])


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Every example in README, docs and docstrings."""
    sources = [f"packages/{name}/src" for name in PACKAGES]
    workspace(
        session,
        ["pytest", "tests/docs", *session.posargs],
        ["pytest", "--doctest-modules", *sources],
    )


@nox.session(venv_backend="none")
def networks(session: nox.Session) -> None:
    """Sixty real networks, traced without an error or a warning."""
    workspace(session, ["pytest", NETWORK_TESTS, *session.posargs])


@nox.session(python=MAIN_PYTHON, reuse_venv=False)
def slim(session: nox.Session) -> None:
    """`tl-torch` alone works: from the workspace, and from the built wheels."""
    session.run(
        "uv", "run", "--frozen", "--quiet", "--isolated", "--package=tl-torch", f"--python={MAIN_PYTHON}",
        "python", "tests/smoke/slim.py",
        external=True,
    )  # fmt: skip
    dist = fresh_folder(session, "dist")
    for package in ("tl-core", "tl-torch"):
        build(session, ROOT, dist, package)
    install_wheels(session, [dist], "tl-torch", tree_versions(ROOT))
    session.run("python", "-P", "tests/smoke/slim.py")


@nox.session(python=MAIN_PYTHON)
def undotted(session: nox.Session) -> None:
    """Drawing where there is no Graphviz: nothing on the path but this environment, and no `graphviz` package in it."""
    sync(session, "--package=tl-viz", "--group=test")
    alone = {"PATH": str(Path(session.bin).resolve())}
    check = "import importlib.util, shutil; assert not shutil.which('dot') and not importlib.util.find_spec('graphviz')"
    session.run("python", "-c", check, env=alone)
    session.run("pytest", "packages/tl-viz/tests", *session.posargs, env=alone)


@nox.session(python=MAIN_PYTHON, reuse_venv=False)
def wheels(session: nox.Session) -> None:
    """Every wheel, installed in an empty environment with the real resolver."""
    dist = fresh_folder(session, "dist")
    for package in PACKAGES:
        build(session, ROOT, dist, package)
    session.run("python", "tests/smoke/wheel_contents.py", str(dist))
    install_wheels(session, [dist], "torchlens", tree_versions(ROOT))
    session.run("python", "-P", "tests/smoke/whole.py")


@nox.session(python=MAIN_PYTHON, reuse_venv=False)
def cadence(session: nox.Session) -> None:
    """One package released alone goes with its older siblings; one outside their range is refused."""
    tree = fresh_folder(session, "tree")
    for name in ("pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tree)
    skip = shutil.ignore_patterns("__pycache__", "tests")
    shutil.copytree(ROOT / "packages", tree / "packages", ignore=skip)
    dist = fresh_folder(session, "dist")
    for package in PACKAGES:
        build(session, tree, dist, package)

    released = tree_versions(tree)
    for package, smoke in (("tl-core", "slim"), ("tl-torch", "whole"), ("tl-viz", "whole")):
        newer = bump(session, tree, package, "patch")
        build(session, tree, fresh_folder(session, package), package)
        session.run_install("uv", "pip", "uninstall", "--quiet", *PACKAGES)
        top = "tl-torch" if smoke == "slim" else "torchlens"
        mixed = released | {package: newer}
        session.log(f"installing {mixed}")
        install_wheels(session, [dist, dist.parent / package], top, mixed)
        session.run("python", "-P", f"tests/smoke/{smoke}.py")

    outside = bump(session, tree, "tl-core", "minor")
    build(session, tree, dist, "tl-core")
    siblings = [f"{name}=={version}" for name, version in (released | {"tl-core": outside}).items()]
    refused = ["uv", "pip", "install", "--dry-run", f"--find-links={dist}", *siblings]
    answer = str(session.run(*refused, success_codes=[1], silent=True))
    session.log(f"tl-core {outside} with siblings that ask for less: {answer}")
    if "depend on tl-core<" not in answer:
        session.error("it was refused for another reason than the range")


def bump(session: nox.Session, tree: Path, package: str, part: str) -> str:
    """Raise one package's version in `tree` and return it."""
    output = session.run(
        "uv", "version", "--short", "--frozen", f"--directory={tree}", f"--package={package}", f"--bump={part}",
        external=True, silent=True,
    )  # fmt: skip
    return str(output).split()[-1]


@nox.session(python=MAIN_PYTHON, reuse_venv=False)
def floor(session: nox.Session) -> None:
    """The oldest torch, NumPy and pandas that are promised to work."""
    requirements = fresh_folder(session, "floor") / "requirements.txt"
    export(
        session, requirements, "--package=tl-core", "--package=tl-torch", "--group=test",
        "--no-emit-workspace", *(f"--prune={name}" for name in FLOOR),
    )  # fmt: skip
    session.run_install(
        "uv", "pip", "install", "--quiet", f"--requirements={requirements}",
        *(f"{name}=={version}" for name, version in FLOOR.items()), "-e", "packages/tl-core", "-e", "packages/tl-torch",
    )  # fmt: skip
    for package in ("tl-core", "tl-torch"):
        session.run("pytest", f"packages/{package}/tests", *session.posargs)


@nox.session(venv_backend="none")
def size(session: nox.Session) -> None:
    """Lines of code of each package, without docstrings and blank lines."""
    session.run("python", "tools/size.py")


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """The benchmarks of `docs/performance.md`, on a quiet machine."""
    workspace(session, ["python", "benchmarks/overhead.py", *session.posargs])
