"""``python -m rankone`` is the command ``rankone``."""

from rankone.cli import main

if __name__ == "__main__":
    main()
