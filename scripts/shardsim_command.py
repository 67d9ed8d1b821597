"""How scripts of this folder call shardsim: in the source tree, by its files."""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def execute(program, *words):
    """Returns what the command prints. If the command fails, the script ends with its message."""
    done = subprocess.run([program, *map(str, words)], cwd=SOURCE, text=True, env={**os.environ, "SHARDSIM_DATA": str(SOURCE)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: shardsim {' '.join(map(str, words[:3]))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
