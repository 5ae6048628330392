"""The exercises of the lessons, one module a lesson."""
