"""How rankone writes numbers, lists and combinations in sentences: one function each, for every room."""
