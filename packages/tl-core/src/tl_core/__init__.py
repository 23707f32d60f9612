"""Records, graph, selectors, file format and backend contract of TorchLens."""
