"""Policies for visitors who read from the top: cascades and dependent clicks."""
