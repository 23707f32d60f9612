"""Records what a PyTorch model computes, operation by operation."""
