"""Which level of a factor a decision has, as a number."""


def numbers(experiment, decision) -> tuple[int, ...]:
    """The number of the level of each factor, as the experiment counts them."""
    names = experiment.look(lambda fold: [levels.names for levels in fold.factors.values()])
    return tuple(own.index(name) for own, name in zip(names, decision.levels.values(), strict=True))


def row_of(decision) -> int:
    """The number of a row, by its name: "row 3" and "C" are number 2."""
    return _number(decision["row"], new=3)


def col_of(decision) -> int:
    """The number of a column, by its name: "col 3" and "z" are number 2."""
    return _number(decision["col"], new=2)


def _number(name: str, new: int) -> int:
    last = name.split()[-1].lower()
    if last == "new":  # of an experiment with three rows and two columns
        return new
    return int(last) - 1 if last.isdecimal() else ord(last) - ord("x" if last >= "x" else "a")
