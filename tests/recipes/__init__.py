"""What a newcomer writes who follows a recipe of CONTRIBUTING.md; `tests/test_recipes.py` puts the files in their place."""
