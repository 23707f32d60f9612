"""`python wheel_contents.py DIST`: each wheel holds its package, its licence and its types, and nothing else."""

import sys
import zipfile
from pathlib import Path


def main(dist: Path) -> None:
    wheels = sorted(dist.glob("*.whl"))
    assert wheels, f"no wheel in {dist}"
    for wheel in wheels:
        names = zipfile.ZipFile(wheel).namelist()
        package = wheel.name.split("-")[0]
        assert f"{package}/py.typed" in names, wheel
        assert any(name.endswith("/LICENSE") for name in names), wheel
        strangers = [name for name in names if not name.startswith((f"{package}/", f"{package}-"))]
        assert not strangers, f"{wheel.name} holds {strangers}"
        if package == "torchlens":
            assert "torchlens/__init__.pyi" in names, wheel
        print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
