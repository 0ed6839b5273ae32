"""offloadc: an LLVM Offload two-pass compiler driver and ABI checker."""

__version__ = "0.1.0"
