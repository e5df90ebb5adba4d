"""The Open Bandit Dataset (Saito et al. 2021): CSV, one row per impression of one item at one of three positions.

The columns are item_id, position, click, propensity_score and user features. There is no query: a file is one
campaign, and the name of the file ("all", "men", "women") names it.
"""

from rankone.clicks.formats.table import Table
from rankone.clicks.logs.delimited import first_names
from rankone.clicks.logs.read_report import ReadReport
from rankone.clicks.logs.source import Source

_COLUMNS = {"item_id", "position", "click", "propensity_score"}


class OpenBandit(Table):
    """The Open Bandit Dataset's CSV; the query of a row is the name of its file."""

    name = "open-bandit"
    title = "Open Bandit Dataset (CSV)"
    example = (
        b",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        b"0,2019-11-24,14,1,0,0.0875,x\n1,2019-11-24,27,2,1,0.01,y\n2,2019-11-24,27,1,0,0.01,y\n3,2019-11-24,14,2,1,0.01,y\n"
    )

    def __init__(self) -> None:
        super().__init__(item="item_id", clicked="click", separator=",")

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Look for the columns that no other log has."""
        return set(first_names(head, ",")) >= _COLUMNS

    def fixed_query(self, source: Source, header: list[str], columns: dict[str, str], report: ReadReport) -> str:
        """Name the campaign after the file."""
        return source.path.name.split(".", 1)[0]
