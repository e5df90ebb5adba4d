"""Reading click logs: files, formats, rows that cannot be read, the account of what was read."""
