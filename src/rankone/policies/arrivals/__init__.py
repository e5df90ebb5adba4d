"""Policies for users who arrive by themselves: nature chooses the row, the policy chooses the item."""
