"""Learning on data with outliers and wrong labels, by minimising a ranked range of losses."""

from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"
__all__ = ["losses", "objectives", "ranked", "solvers"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"sorr.{name}")  # a room loads on first use
    raise AttributeError(f"module 'sorr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
