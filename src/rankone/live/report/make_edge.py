"""What is known of an experiment that decides at the edge, for its report; and the traffic check.

**The traffic check.** Exposures of a version fall on combinations with the chances that were published for it. A
chi-square test of each version (combinations with fewer than 5 expected go together), and one of the sum over all, say
whether they did: one draw that is served to many, rows that are lost for some levels or an edge that draws otherwise
show there. It is a test of one look; beside it stands one that holds at all looks (`Report.shortfalls`).
"""

import numpy as np

from rankone.live.evidence.published import SHOWN, Published
from rankone.live.report.edge_report import UNFIT_TEXTS, EdgeReport
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.student import chi_square_tail

_EXPECTED, _LEAST = 5.0, 100


def make_edge_report(published: Published | None) -> EdgeReport | None:
    """Return what is known; None of an experiment that decides when it is asked."""
    if published is None:
        return None
    tested: list[tuple[float, int, float, int]] = []  # p-value, version, statistic, degrees of freedom
    for version, counts in published.each():
        shown = counts[SHOWN]
        if shown.sum() >= _LEAST:
            statistic, freedom = _chi_square(shown, version.chances())
            if freedom:
                tested.append((chi_square_tail(statistic, freedom), version.number, statistic, freedom))
    p_value, worst = None, None
    if tested:
        least, worst, *_ = min(tested)
        whole = chi_square_tail(sum(each[2] for each in tested), sum(each[3] for each in tested))
        p_value = min(1.0, 2.0 * min(whole, least * len(tested)))
    unfit = {why: published.unfit[why] for why in UNFIT_TEXTS if published.unfit[why]}
    return EdgeReport(len(published.versions), published.shown, unfit, p_value, worst)


def _chi_square(shown: Ints, chances: Floats) -> tuple[float, int]:
    """Return the statistic of what was shown against its chances, and its degrees of freedom."""
    expected = shown.sum() * chances
    often = expected >= _EXPECTED
    counts, means = list(shown[often]), list(expected[often])
    rest, few = int(shown[~often].sum()), float(expected[~often].sum())
    if few >= 1.0:
        counts, means = [*counts, rest], [*means, few]
    elif counts:
        counts[0], means[0] = counts[0] + rest, means[0] + few
    found, wanted = np.array(counts, float), np.array(means)
    return float(((found - wanted) ** 2 / wanted).sum()), max(0, len(found) - 1)
