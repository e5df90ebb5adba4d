"""How long an experiment takes and what it loses meanwhile: a line for each way to run it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from rankone.charts.chart import COLOURS, Chart, drawn, log_axis, short_axis, small_title


def plan_chart(spans: Sequence[Mapping[str, Any]], bound: float, visitors_a_day: float | None, title: str) -> Chart:
    """Draw visitors until the verdict, half of the experiments to nine of ten, and the clicks lost until then.

    `spans` have way, median, late and lost of each way to run it; None: not known, no mark is drawn. The dashed line is
    the `bound`, visitors that any method needs at least, on average.

    >>> span = {"way": "both", "median": 900.0, "late": 1500.0, "lost": 40.0}
    >>> chart = plan_chart([span], bound=300.0, visitors_a_day=100.0, title="2 x 2 pairs")
    """
    ways = [str(span["way"]) for span in spans]
    rows = [dict(span) | {"end": span["late"] or span["median"]} for span in spans if span["median"]]
    rows = [row for row in rows if math.isfinite(row["end"])]
    y = alt.Y("way:N", sort=ways, title=None, scale=alt.Scale(domain=ways))
    days = "" if visitors_a_day is None else f" ({visitors_a_day:,.0f} of them a day)"
    ends = [bound] * (0.0 < bound < math.inf) + [value for row in rows for value in (row["median"], row["end"])]
    scale, axis = log_axis(min(ends, default=1.0), max(ends, default=10.0))
    x = alt.X("median:Q", title=f"visitors until the verdict{days}", scale=scale, axis=axis)
    tooltip = ["way:N", alt.Tooltip("median:Q", format=",.0f"), alt.Tooltip("late:Q", format=",.0f")]
    base = drawn(rows, x=x, y=y, tooltip=tooltip)
    bar = base.mark_bar(height=12, color=COLOURS[0], opacity=0.75).encode(x2="end:Q")
    layers = [bar, base.mark_tick(thickness=3, size=22, color="black")]
    if 0.0 < bound < math.inf:
        layers.append(drawn([{"median": bound}], x=x).mark_rule(strokeDash=[5, 4], color=COLOURS[1], strokeWidth=2))
    if unknown := [way for way in ways if way not in [row["way"] for row in rows]]:
        said = [{"way": way, "said": "no verdict in most rehearsals"} for way in unknown]
        note = drawn(said, x=alt.value(420), y=y, text="said:N")
        layers.append(note.mark_text(align="right", dx=-8, fontSize=12, color="#444"))
    height = 34 * len(ways)
    explained = "from half of the experiments (black) to nine of ten; dashed: the least any method needs"
    left = alt.layer(*layers).properties(width=420, height=height, title=small_title(explained))
    cost = alt.X("lost:Q", title="clicks lost until the verdict", axis=short_axis(tickCount=4))
    beside = alt.Y("way:N", sort=ways, title=None, axis=None, scale=alt.Scale(domain=ways))
    right = drawn(rows, x=cost, y=beside).mark_bar(height=12, color=COLOURS[2])
    right = right.properties(width=240, height=height, title=small_title("what it costs"))
    return Chart(alt.hconcat(left, right).properties(title=title))
