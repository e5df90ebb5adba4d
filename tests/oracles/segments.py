"""What is proven about segments, by hand."""


def plain_verdict(proofs, sizes, bars):
    """Return statements (segment, better, worse), whether each factor depends on the segment, who is best where."""
    factors, first = [], 0
    for size in sizes:
        factors.append(list(range(first, first + size)))
        first += size
    statements = {
        (segment, x, y)
        for segment, (proof, bar) in enumerate(zip(proofs, bars, strict=True))
        for levels in factors
        for x in levels
        for y in levels
        if x != y and proof[x, y] >= bar
    }
    depends = [
        all(any(worse == level for _, _, worse in statements) for level in levels) and len(levels) > 1
        for levels in factors
    ]
    best = []
    for segment in range(len(proofs)):
        row = []
        for levels in factors:
            winners = [x for x in levels if all((segment, x, y) in statements for y in levels if y != x)]
            row.append(winners[0] if winners else None)
        best.append(row)
    return statements, depends, best
