"""The journal: events, how they are packed into columns, when they happened and which no longer count."""
