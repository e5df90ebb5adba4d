"""Pictures of tables. A chart knows Polars tables only, neither studies nor policies, so anything may draw one."""
