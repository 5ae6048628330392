"""The journal: a daily log that only grows, a long-term memory made from it, and a search over both."""
