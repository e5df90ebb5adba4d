"""Policies for the position-based model, with positions known or learned."""
