"""Says what of TorchLens is installed and whether it works."""

__all__: list[str] = []
