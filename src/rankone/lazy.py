"""Large libraries, each imported when something of it is first used: `from rankone.lazy import pl`."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["alt", "nw", "pl"]


class _Lazy(ModuleType):
    """Looks like a module, and imports it when it is asked for anything."""

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))  # so that this is not called again
        return getattr(module, name)


if TYPE_CHECKING:
    import altair as alt
    import narwhals as nw
    import polars as pl
else:
    alt, nw, pl = map(_Lazy, ("altair", "narwhals", "polars"))
