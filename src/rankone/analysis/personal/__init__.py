"""What a log of users and items says: does the best item depend on the user, and what do policies start from?"""

from rankone.analysis.personal.personal import Personal, personal

__all__ = ["Personal", "personal"]
