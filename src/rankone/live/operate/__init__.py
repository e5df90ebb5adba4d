"""What operators do with a database: archives, backups, checks, exports, exclusions and the log of changes."""
