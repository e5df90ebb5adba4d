"""Bodies of requests and answers of a page's snippet (`schemas`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rankone.live.names import MAX_NAME
from rankone.live.visitor_attributes import MAX_LINE
from rankone.web.server.schemas.bodies import Body, Decisions, Text

_TOKEN = Field(None, max_length=MAX_NAME, description="the token, where there is no header Authorization")


class VisitBody(Body):
    """Ask for a visitor of a page."""

    visitor: Annotated[Text, Field(max_length=100)] | None = Field(
        None, description="who it is, such as a random number that the browser keeps; left out: nobody seen before"
    )
    signature: Annotated[Text, Field(max_length=100)] | None = Field(
        None, description="by which a token with the scope 'sign' vouches for the visitor"
    )
    segment: Annotated[Text, Field(max_length=MAX_LINE)] | None = Field(
        None, description="what is known of the visitor: device=phone,country=DE"
    )
    token: str | None = _TOKEN


class BeaconBody(Body):
    """Tell that what a page showed was clicked; or, with `void`, that it was not shown at all."""

    id: Annotated[str, Field(max_length=MAX_NAME)]
    void: bool = False
    token: str | None = _TOKEN


class Visited(Decisions):
    """What a visitor of a page is to see."""

    repeated: bool = Field(description="the visitor asked before and got this then: it may have been shown")
