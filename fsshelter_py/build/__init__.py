"""From a declared topology to one that can run: validation, assignment of tasks to executors, description, graph.

Pure: no thread, no clock, no I/O. May import: errors, conf, model.
"""
