"""Policies that stay near a leader: it is compared with what differs from it in one factor."""
