"""Bodies of requests and answers of a plan (`schemas`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from rankone.live.names import MAX_FACTORS, MAX_LEVELS
from rankone.web.server.schemas.bodies import Body, Text


class PlanBody(Body):
    """An experiment to be planned. Left out: as `rankone.plan` has it."""

    factors: Annotated[
        dict[Text, Annotated[int, Field(ge=1, le=MAX_LEVELS)]], Field(min_length=1, max_length=MAX_FACTORS)
    ] = Field(description="the number of levels of each factor, by its name")
    rate: Annotated[float, Field(gt=0, le=1)] = Field(
        description="click rate of a combination one change away from the best"
    )
    lift: Annotated[float, Field(gt=0)] = Field(description="how much more often the best is clicked: 0.1 is 10 % more")
    visitors_a_day: Annotated[float, Field(gt=0)] | None = Field(None, description="to have days too")
    goal: Literal["earn", "both", "decide"] | None = Field(None, description="left out: all of them")
    margin: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="a winner within this part of the best is enough"
    )
    error: Annotated[float, Field(ge=1e-6, le=0.5)] = Field(0.05, description="the verdict may be wrong so often")


class SpanAnswer(BaseModel):
    """One way to run an experiment: what it takes and what it costs."""

    way: str = Field(description="a goal, or 'equal split'")
    median: float | None = Field(description="visitors until half have a verdict; null: most had none, see beyond")
    late: float | None = Field(description="until nine of ten have one")
    lost: float | None = Field(description="clicks until the verdict, on average")
    beyond: float | None = Field(description="visitors after which rehearsals gave up; null: never is never")


class PlanAnswer(BaseModel):
    """What an experiment of this size would take, with each goal and as an equal split."""

    factors: dict[str, int] = Field(description="the number of levels of each factor")
    rate: float
    lift: float
    margin: float
    error: float
    visitors_a_day: float | None
    bound: float = Field(description="visitors that rules which compare neighbours need at least, roughly")
    spans: list[SpanAnswer]
    advice: list[str] = Field(description="what would be possible, where a verdict takes more than a year")
    meaning: str = Field(description="what rate and lift say about the combinations")
    sentence: str
