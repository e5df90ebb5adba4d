"""From a request to the journal: plans, drafts of events, group commit and transactions."""
