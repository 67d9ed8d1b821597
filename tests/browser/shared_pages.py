#!/usr/bin/env python3
"""Makes the pages that two tests look at, pages_check.py and accessibility_check.py, so that they are made once. ctest makes
them before the first of the two; a test that is started by hand without them makes its own.
Usage: shared_pages.py SHARDSIM SOURCE_DIR OUTPUT_DIR"""
import os
import shutil
import subprocess
import sys

# The command and its words; where it writes, below the folder of all, stands last.
COMMANDS = [
    ["run", "scenarios/toy.yaml", "-q", "-o", "run"],
    ["run", "scenarios/toy.yaml", "--set", "workload.batch_per_gpu=64", "-q", "-o", "other"],
    ["compare", "{folder}/run/timeline.h5", "{folder}/other/timeline.h5", "--case", "row_wise", "-o", "compare.html"],
    ["sweep", "scenarios/sweep_planners.yaml", "-q", "-o", "sweep"],
    ["drift", "scenarios/sixty_tables.yaml", "--case", "plans/torchrec", "-q", "-o", "drift"],
]


def make(shardsim, source, folder):
    for *words, to in COMMANDS:
        words = [word.format(folder=folder) for word in words]
        subprocess.run([shardsim, *words, f"{folder}/{to}"], cwd=source, env=os.environ | {"SHARDSIM_DATA": source}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def shared_pages(words, folder):
    """The folder of these pages, given the words of a test: SHARDSIM SOURCE_DIR [OUTPUT_DIR]. Without the last they are made
    below `folder`."""
    if len(words) == 3:
        return os.path.realpath(words[2])
    make(os.path.realpath(words[0]), os.path.realpath(words[1]), f"{folder}/shared")
    return f"{folder}/shared"


if __name__ == "__main__":
    shutil.rmtree(sys.argv[3], ignore_errors=True)
    make(*(os.path.realpath(word) for word in sys.argv[1:4]))
