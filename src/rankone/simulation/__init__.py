"""What the system does with problems and policies: plays them, in studies that can be trusted and resumed."""

from rankone.simulation.arena import Arena, arena
from rankone.simulation.recommend import Recommendation, recommend
from rankone.simulation.simulate import simulate
from rankone.simulation.study import Study

__all__ = ["Arena", "Recommendation", "Study", "arena", "recommend", "simulate"]
