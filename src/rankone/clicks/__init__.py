"""From a click log to a problem: read or count a log, fit a click model, take a query's problem."""

from rankone.clicks.counts import Counts
from rankone.clicks.frames import count
from rankone.clicks.reading import read, read_split

__all__ = ["Counts", "count", "read", "read_split"]
