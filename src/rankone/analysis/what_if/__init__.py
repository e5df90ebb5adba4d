"""What would have happened: logged decisions and lists, targets, and the estimators of their value."""
