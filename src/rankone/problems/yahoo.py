"""Click rates of articles on Yahoo's front page as they were published, changing from stretch to stretch.

* ``yahoo-abrupt``: six articles in nine stretches: Cao, Wen, Kveton, Xie, "Nearly Optimal Adaptive Procedure with
  Change Detection for Piecewise-Stationary Bandit" (AISTATS 2019), section 6.
* ``yahoo-slow``: five articles whose rates move a little all the time: Wei, Srivastava, "On Abruptly-Changing and
  Slowly-Varying Multiarmed Bandit Problems" (2018), section V; here every fourth of its 82 stretches, with rates that
  glide from one to the next.

Articles are rows. The first column has the published rates; each further one is a place that is seen 3/4 as often as
the one before. There is no more of the data: rows beyond the last article repeat the articles at half their rates.
"""

import numpy as np

from rankone.problems.drifting import Drifting
from rankone.problems.rank_one import RankOne
from rankone.problems.registry import family
from rankone.specs import whole_number

# Clicks in 1,000 showings: a line for each stretch, a column for each article.
_ABRUPT = np.array([
    [71, 41, 32, 30, 20, 11], [55, 53, 32, 30, 8, 11], [40, 63, 32, 30, 8, 11], [40, 42, 43, 30, 8, 11],
    [30, 32, 55, 30, 8, 11], [30, 32, 20, 30, 8, 21], [20, 22, 20, 45, 8, 21], [20, 22, 20, 57, 8, 11],
    [20, 22, 34, 57, 22, 11],
])  # fmt: skip
_SLOW = np.array([
    [70, 44, 43, 29, 39], [55, 45, 46, 28, 34], [52, 48, 37, 20, 37], [45.5, 47, 33, 18, 34], [33, 26, 25, 20, 33],
    [45, 38, 21, 14, 23], [46, 40, 35, 20, 19], [50, 37, 34, 24, 33], [49, 40.5, 29, 23.5, 37], [51, 41, 35, 25, 38],
    [47, 35, 32, 26, 39], [43, 27, 26, 21, 37.5], [45, 34, 15, 20, 37.5], [43, 35, 27, 18, 32], [28, 38, 29, 17, 33],
    [38, 40, 34, 14, 29], [42, 37, 34, 18, 18.5], [44, 38, 36, 25, 29], [49, 35, 34, 28, 37], [47, 27, 39, 27, 38],
    [49, 31, 35, 27, 39],
])  # fmt: skip


def _problem(rates: np.ndarray, n_rows: int, n_cols: int, span: int, glides: bool) -> Drifting:
    articles = rates.shape[1]
    scale = 0.5 ** (np.arange(n_rows) // articles) / 1_000.0
    columns = np.power(0.75, np.arange(n_cols, dtype=np.float64))
    stretches = [RankOne(line[np.arange(n_rows) % articles] * scale, columns) for line in rates]
    starts = [span * index // len(rates) for index in range(len(rates))]
    first, *later = zip(starts, stretches, strict=True)
    return Drifting(first[1], later, glides=glides)


@family("yahoo-abrupt", Drifting)
def yahoo_abrupt(n_rows: int, n_cols: int, *, span: int = 100_000) -> Drifting:
    """Six articles of Yahoo's front page whose click rates jump eight times, as published; spread over span decisions.

    >>> yahoo_abrupt(6, 1)
    <Drifting yahoo-abrupt:6x1: 6 x 1, 9 periods>
    """
    return _problem(_ABRUPT, n_rows, n_cols, whole_number("span", span, least=len(_ABRUPT)), glides=False)


@family("yahoo-slow", Drifting)
def yahoo_slow(n_rows: int, n_cols: int, *, span: int = 100_000) -> Drifting:
    """Five articles of Yahoo's front page whose click rates move slowly, as published; spread over span decisions.

    >>> yahoo_slow(5, 2).starts[:3].tolist()
    [0, 4761, 9523]
    """
    return _problem(_SLOW, n_rows, n_cols, whole_number("span", span, least=len(_SLOW)), glides=True)
