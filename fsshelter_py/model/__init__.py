"""Frozen records that the other packages share: components, streams, topologies, outcomes, messages.

May import: errors, clock, conf. No thread, no clock, no I/O.
"""
