"""Bodies of requests and answers about tokens (`schemas`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from rankone.web.server.schemas.bodies import Body, Text


class NewToken(Body):
    """A token to make: it may do no more than the token that asks for it."""

    scopes: Annotated[list[Literal["ask", "tell", "read", "admin", "sign"]], Field(min_length=1, max_length=5)]
    experiment: Text = Field("*", description="the one it is for; *: all of them")
    note: Text | None = Field(None, description="what it is for")
    days: Annotated[float, Field(gt=0, le=36_500)] | None = Field(365.0, description="until it expires; null: never")
    rate: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(None, description="decisions and outcomes a second")


class NewTokenAnswer(BaseModel):
    """A token, to be seen this once."""

    id: str
    token: str


class TokenAnswer(BaseModel):
    """A token without its secret; times in seconds since 1970."""

    id: str
    note: str
    scopes: list[str]
    experiment: str
    rate: int | None
    created: int
    expires: int | None
    revoked: int | None
    made_by: str | None
    revoked_by: str | None
    valid: bool


class Tokens(BaseModel):
    """Tokens, oldest first."""

    tokens: list[TokenAnswer]


class Whoami(BaseModel):
    """What a caller may do."""

    id: str | None = Field(description="of the token; null: none is needed on this machine")
    scopes: list[str]
    experiment: str = Field(description="*: all of them")
