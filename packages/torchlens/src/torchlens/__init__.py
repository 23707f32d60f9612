"""Everything a PyTorch model computes, by name: one namespace and a command line."""
