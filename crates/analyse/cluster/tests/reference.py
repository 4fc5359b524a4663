"""Clusters points with another program, for tests and benchmarks.

    reference.py scikit-learn|dbscan FILE DIMENSIONS EPS MIN_POINTS ROUNDS [LABELS]

FILE has rows of f64. Prints the CPU and wall seconds of the fastest round, clusters and noise; writes labels (i64, noise is -1)
and then core flags (u8) to LABELS.
"""
import sys
import time

import numpy

which, file, dimensions, eps, min_points, rounds = sys.argv[1:7]
points = numpy.fromfile(file).reshape(-1, int(dimensions))
eps, min_points = float(eps), int(min_points)

if which == "scikit-learn":
    from sklearn.cluster import DBSCAN

    def cluster():
        # The only one that compares sums of squares as they are; "brute" multiplies matrices.
        found = DBSCAN(eps=eps, min_samples=min_points, algorithm="kd_tree").fit(points)
        core = numpy.zeros(len(points), dtype=numpy.uint8)
        core[found.core_sample_indices_] = 1
        return found.labels_, core
else:
    from dbscan import DBSCAN

    def cluster():
        return DBSCAN(points, eps=eps, min_samples=min_points)

best = None
for _ in range(int(rounds)):
    wall, cpu = time.perf_counter(), time.process_time()
    labels, core = cluster()
    times = (time.process_time() - cpu, time.perf_counter() - wall)
    best = times if best is None else min(best, times)
labels = numpy.asarray(labels, dtype=numpy.int64)
print(best[0], best[1], labels.max(initial=-1) + 1, int((labels < 0).sum()))
if len(sys.argv) > 7:
    with open(sys.argv[7], "wb") as out:
        labels.tofile(out)
        numpy.asarray(core, dtype=numpy.uint8).tofile(out)
