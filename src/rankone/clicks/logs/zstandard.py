"""Zstandard: Python has it since 3.14, and `backports.zstd` is the same for those before."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
