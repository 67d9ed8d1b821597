#!/usr/bin/env python3
"""How much the planner `search` varies with its seed and with the order in which a workload lists its tables.

Neither says anything about a model, so what they change is what a lead of `search` over another plan has to exceed.
Usage: search_spread.py SHARDSIM [CASE...] [-r REPEATS] [-l LIMIT]     CASE: of CASES below; all without
Prints one line for each case and each of the two: the shortest, median and longest iteration of the plans found, and
by how many per cent the longest is longer than the shortest. Exit 1 if that is more than LIMIT.
"""
import argparse
import copy
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import yaml

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / 'scenarios'
SEARCH = {'name': 'search'}
SMALL = {'tables': 48, 'nodes': 2}  # of case `small`, which a test can afford
# Scenario and the case whose workload and cluster are searched.
CASES = {'sixty_tables': ('sixty_tables.yaml', 'chosen'), 'small': ('pool_4x8.yaml', 'pool_80'),
         'pool_80': ('pool_4x8.yaml', 'pool_80'), 'pool_160': ('pool_4x8.yaml', 'pool_160'),
         'rm1': ('flexshard.yaml', 'rm1/flexshard_3tier')}


def workload_of(scenario, case):
    """Returns the workload as a map that lists its tables, whichever way the scenario names it."""
    named = case.get('workload', scenario.get('workload'))
    if isinstance(named, dict):
        return copy.deepcopy(named)
    return yaml.safe_load((SCENARIOS / 'workloads' / (pathlib.Path(named).stem + '.yaml')).read_text())


def alone(case_name):
    """Returns a scenario of this case alone, planned by `search`."""
    file, name = CASES[case_name]
    scenario = yaml.safe_load((SCENARIOS / file).read_text())
    case = next(each for each in scenario['cases'] if each['name'] == name)
    kept = {key: scenario[key] for key in ('schema', 'cluster', 'software', 'memory_model', 'compute_model', 'iterations')
            if key in scenario}
    if isinstance(kept['cluster'], str):
        kept['cluster'] = pathlib.Path(kept['cluster']).stem
    workload = workload_of(scenario, case)
    if case_name == 'small':
        kept['cluster'] = dict(kept['cluster'], nodes=SMALL['nodes'])
        for key in ('tables', 'dims'):
            workload['tables_from'][key] = workload['tables_from'][key][:SMALL['tables']]
    return dict(kept, title=case_name, seed=1, workload=workload, cases=[{'name': 'main', 'planner': SEARCH}])


def shuffled(scenario, seed):
    """Returns the scenario with the tables of its workload in another order, everything else the same."""
    scenario = copy.deepcopy(scenario)
    workload = scenario['workload']
    source = workload.get('tables_from')
    if source is None:
        random.Random(seed).shuffle(workload['tables'])
        return scenario
    pairs = list(zip(source['tables'], source['dims']))
    random.Random(seed).shuffle(pairs)
    source['tables'], source['dims'] = [list(each) for each in zip(*pairs)]
    return scenario


def iteration_ms(shardsim, scenario, folder):
    file = pathlib.Path(folder) / 'scenario.yaml'
    file.write_text(yaml.safe_dump(scenario, sort_keys=False))
    subprocess.run([shardsim, 'run', file, '-q', '-o', pathlib.Path(folder) / 'out'], check=True,
                   stdout=subprocess.DEVNULL)
    return json.loads((pathlib.Path(folder) / 'out' / 'result.json').read_text())['cases'][0]['iteration_ms']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('shardsim')
    parser.add_argument('-r', '--repeats', type=int, default=8)
    parser.add_argument('-l', '--limit', type=float, default=float('inf'))
    parser.add_argument('cases', nargs='*', metavar='CASE')
    asked = parser.parse_args()
    most = 0
    for name in asked.cases or CASES:
        if name not in CASES:
            sys.exit(f'no case {name}: one of {", ".join(CASES)}')
        base = alone(name)
        kinds = {'seed': lambda i: dict(base, seed=i), 'order': lambda i: shuffled(base, i)}
        for kind, variant in kinds.items():
            with tempfile.TemporaryDirectory() as folder:
                times = [iteration_ms(asked.shardsim, variant(i), folder) for i in range(1, asked.repeats + 1)]
            spread = 100 * (max(times) / min(times) - 1)
            most = max(most, spread)
            print(f'{name:14} {kind:6} {min(times):9.4f} {statistics.median(times):9.4f} {max(times):9.4f} ms {spread:5.2f} %',
                  flush=True)
    sys.exit(most > asked.limit)


if __name__ == '__main__':
    main()
