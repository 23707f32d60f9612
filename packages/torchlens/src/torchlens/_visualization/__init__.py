"""A place where programs that were written for earlier releases look for constants of the planner."""
