"""The mixture against its definition: each outcome predicted from those before it, (clicks + 1/2) / (pulls + 1)."""

import math

import pytest

from rankone.numerics.betas.beta import mixture_regret
from rankone.numerics.seeds import generator


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.5, 1.0])
def test_what_not_knowing_the_rate_costs(rate):
    rng, clicks, mixture = generator(1, "mixture"), 0, 0.0
    for pulls in range(300):
        outcome = int(rng.random() < rate)
        predicted = (clicks + 0.5) / (pulls + 1)
        mixture += math.log(predicted if outcome else 1.0 - predicted)
        clicks += outcome
        mean = clicks / (pulls + 1)
        own = sum(count * math.log(share) for count, share in ((clicks, mean), (pulls + 1 - clicks, 1 - mean)) if count)
        assert mixture_regret(pulls + 1, clicks) == pytest.approx(own - mixture, rel=1e-9, abs=1e-9)
