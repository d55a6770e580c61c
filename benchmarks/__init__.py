"""Measures fsshelter_py beside its peers, in one session, as ratios. ``make bench`` runs it.

job, word_jobs, number_jobs: what is done, whoever does it. workloads: the jobs as topologies; peers: the jobs as others
do them. latency, growth: what is asked of fsshelter_py alone. contestant: one measurement, in a process of its own;
measure: the rounds of them; report: the tables. May import the public API, nothing below it.
"""
