"""What the system does with problems and policies: plays them, in studies that can be trusted and resumed."""

from rankone.simulation.arena import Arena, arena
from rankone.simulation.feedback import Feedback
from rankone.simulation.recommend import Recommendation, recommend
from rankone.simulation.simulate import simulate
from rankone.simulation.study import Study
from rankone.simulation.sweep import Sweep, sweep

__all__ = ["Arena", "Feedback", "Recommendation", "Study", "Sweep", "arena", "recommend", "simulate", "sweep"]
