#!/usr/bin/env python3
"""Tables of MLPerf's DLRM-DCNv2 and DLRM with the popularity of Criteo's ids, for a workload file.

criteo_popularity.py dcnv2|dlrm|met_3|met_15   prints the list `tables` of scenarios/workloads/mlperf_dcnv2.yaml, mlperf_dlrm.yaml,
dlrm_criteo_met_3.yaml or dlrm_criteo_met_15.yaml

Public figures of Criteo 1 TB are, per table, the number of different ids of its 4,195,197,692 training samples, and how many of
them are met at least 3 and at least 15 times. Laws of probability by rank r, N samples:

* The five large tables: a power law through 15/N at the rank of the ids met 15 times and 3/N at that of those met 3 times,
  continued to rank 1, and another one from there to 1/N at the last id. They hold 32 to 43 % of the accesses. The rest lies
  on the few most frequent ids: a guess of ours gives it to the first eight, each half of the one before.
* Three tables of 0.4 to 3 million ids: c r^-a exp(-r / R), R such that the ids met 15 times have 15/N at the last of them.
* Smaller tables: r^-a.

a is one number for all tables, fitted to eight published points (tests/models/workload/criteo_popularity_test.cpp has them).
A table with fewer rows than ids folds the ids beyond its last row evenly over all rows."""

import math
import sys

SAMPLES = 4195197692.0
EXPONENT = 1.07
HEAD = 8  # ids that share what the power laws leave

# Different ids: HugeCTR's and DLRM's row counts; met 3 times: facebookresearch/dlrm torchrec_dlrm/README.MD at 2a0c0b8; met 15
# times: NVIDIA/DeepLearningExamples, DLRM, frequency limit 15.
IDS = [227605432, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 130229467, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14,
       292775614, 40790948, 187188510, 590152, 12973, 108, 36]
MET_3 = [45833188, 36746, 17245, 7413, 20243, 3, 7114, 1441, 62, 29275261, 1572176, 345138, 10, 2209, 11267, 128, 4, 974, 14,
         48937457, 11316796, 40094537, 452104, 12606, 104, 35]
MET_15 = [7912889, 33823, 17139, 7339, 20046, 4, 7105, 1382, 63, 5554114, 582469, 245828, 11, 2209, 10667, 104, 4, 968, 15, 8165896,
          2675940, 7156453, 302516, 12022, 97, 35]
LARGE, MIDDLE = (0, 9, 19, 20, 21), (10, 11, 22)

# Rows and ids per sample of the models (mlcommons/training_results, NVIDIA's HugeCTR code of rounds v3.0 and v1.0).
MODELS = {
    "dcnv2": ([40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14,
               40000000, 40000000, 40000000, 590152, 12973, 108, 36],
              [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1]),
    "dlrm": ([39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938, 155, 4, 976, 14,
              39979771, 25641295, 39664984, 585935, 12972, 108, 36], [1] * 26),
    "met_3": (MET_3, [1] * 26),  # NVIDIA/DeepLearningExamples, DLRM: ids below a frequency limit share a row
    "met_15": (MET_15, [1] * 26),
}


def ranks(first, last, ratio=1.05):
    """Blocks of ranks, single ones at first, as (first, last)."""
    while first <= last:
        end = min(last, max(first, int(first * ratio)))
        yield first, end
        first = end + 1


def mass(law, first, last):
    return sum((end - begin + 1) * law(math.sqrt(begin * end)) for begin, end in ranks(first, last))


def large_law(table):
    """Probability by rank, without what the first ids have besides."""
    middle, tail = MET_15[table], MET_3[table]
    head_slope = math.log(5) / math.log(tail / middle)
    tail_slope = math.log(3) / math.log(IDS[table] / tail)

    def law(rank):
        if rank <= tail:
            return 15 / SAMPLES * (rank / middle) ** -head_slope
        return 3 / SAMPLES * (rank / tail) ** -tail_slope

    return law


def tapered_law(table):
    """c r^-a exp(-r / R), normalised."""
    met = MET_15[table]

    def shape(scale):
        return lambda rank: rank**-EXPONENT * math.exp(-rank / scale)

    low, high = met / 60, met * 50
    for _ in range(60):
        scale = math.sqrt(low * high)
        shaped = shape(scale)
        low, high = (low, scale) if shaped(met) / mass(shaped, 1, IDS[table]) > 15 / SAMPLES else (scale, high)
    shaped = shape(math.sqrt(low * high))
    whole = mass(shaped, 1, IDS[table])
    return lambda rank: shaped(rank) / whole


def large_knots(table, rows):
    law = large_law(table)
    rest = 1 - mass(law, 1, IDS[table])
    folded = mass(law, rows + 1, IDS[table]) / rows
    halves = sum(2.0**-i for i in range(HEAD))
    places = [*range(1, HEAD + 2), 10**3, 10**4, 10**5, 10**6, 3 * 10**6, 10**7, 2 * 10**7, MET_15[table], MET_3[table], rows]
    for rank in sorted({place for place in places if place <= rows}):
        head = rest * 2.0 ** (1 - rank) / halves if rank <= HEAD else 0
        yield rank, law(rank) + head + folded


def tapered_knots(table, rows):
    law, rank = tapered_law(table), 1
    while rank < rows:
        yield rank, law(rank)
        rank = rank * 10 if rank < 1000 else min(rows, int(rank * 1.6))
    yield rows, law(rows)


def access_of(table, rows, first):
    if table in LARGE or table in MIDDLE:
        knots = large_knots(table, rows) if table in LARGE else tapered_knots(table, rows)
        text = ", ".join(f"{{rank: {rank}, ln_p: {math.log(p):.4f}}}" for rank, p in knots)
        return f"{{family: piecewise_power_law, rescale: true,\n      knots: [{text}]}}"
    return f"{{family: zipf, s: {'&exponent ' + FITTED if first else '*exponent'}}}"


FITTED = f"""{{value: {EXPONENT}, fitted: true, rows_used: 8,
      source: "one exponent for all tables, scripts/criteo_popularity.py",
      fitted_on: ["eight shares of the 19,272 to 76,316 most frequent rows, logs of MLPerf Training v1.0 to v2.1"]}}"""


def main(model):
    rows, lookups = MODELS[model]
    bags = ", bag_ids: first_id" if model == "dcnv2" else ""
    first = True
    for table in range(26):
        named = f"name: t_cat_{table}, rows: {rows[table]}, dim: 128, kind: pooled, pooling_factor: {lookups[table]}{bags}"
        print(f"  - {{{named},\n     access: {access_of(table, rows[table], first)}}}")
        first = first and (table in LARGE or table in MIDDLE)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MODELS:
        sys.exit(f"usage: criteo_popularity.py {'|'.join(MODELS)}")
    main(sys.argv[1])
