"""The obvious slow twin of `rankone.evidence.amounts`: a product over decisions, made anew for each ratio."""

import math

BETS = [0.95 * 0.6**step for step in range(12)]


def evidence_of(decisions, x, y, ratio):
    """Log evidence that x brings more than `ratio` times y; decisions are (level shown, value, probability by level)."""
    products = []
    for bet in BETS:
        product = 0.0
        for shown, value, chances in decisions:
            if shown not in (x, y) or chances[x] <= 0 or chances[y] <= 0:
                continue
            a = chances[x] / (chances[x] + chances[y])
            d = value * (1 - a) if shown == x else -ratio * value * a
            d /= ratio * max(a, 0.5)
            assert d >= -1
            cost = bet**2 / 2 if d > 0 else -math.log(1 - bet) - bet
            factor = math.exp(bet * d - cost * d * d)
            assert factor <= 1 + bet * d + 1e-12  # what the proof rests on
            product += math.log(factor)
        products.append(product)
    most = max(products)
    weights = [0.8**step for step in range(len(BETS))]
    total = sum(weight * math.exp(each - most) for weight, each in zip(weights, products, strict=True))
    return most + math.log(total / sum(weights))
