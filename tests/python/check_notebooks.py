#!/usr/bin/env python3
"""The notebooks of docs/notebooks run from their first cell to their last, and are kept without outputs.

Usage: check_notebooks.py SHARDSIM SOURCE_DIR [NOTEBOOK...], with the package on PYTHONPATH. Each runs in an empty folder,
with the command on PATH. Exit: 0 all run; 1 with the first cell that fails; 77 where nbclient or ipykernel is missing.
"""

import os
import resource
import sys
import tempfile

try:
    import ipykernel  # noqa: F401
    import nbclient
    import nbformat
except ImportError as error:
    print(f"{error}: install python3-nbconvert and python3-ipykernel")
    sys.exit(77)

PROGRAM, SOURCE = (os.path.abspath(each) for each in sys.argv[1:3])
FOLDER = os.path.join(SOURCE, "docs", "notebooks")
MOST_CELLS_OF_TASKS = 60  # as many as a reader goes through
LIMIT_S = 300  # of a cell, on a machine that does other things, too


def check_form(name, book):
    """Notebooks are kept as they are written: valid, without outputs, and beginning with a title."""
    nbformat.validate(book)
    assert book.cells[0].cell_type == "markdown" and book.cells[0].source.startswith("# "), f"{name}: no title"
    for number, cell in enumerate(book.cells):
        assert cell.source.strip(), f"{name}: cell {number} is empty"
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None, f"{name}: cell {number} holds outputs"


def failures_of(book):
    """What commands behind "!" say of their failures, which do not raise."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            yield from [line for line in output.get("text", "").splitlines() if line.startswith("error: ")]


def main():
    names = sys.argv[3:] or sorted(name for name in os.listdir(FOLDER) if name.endswith(".ipynb"))
    assert names, f"{FOLDER} holds no notebook"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a debugger of the kernel, which warns of nothing that matters
    os.environ["PATH"] = os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]
    for name in names:
        book = nbformat.read(os.path.join(FOLDER, name), as_version=4)
        check_form(name, book)
        if name == "seven_tasks.ipynb":
            assert len(book.cells) <= MOST_CELLS_OF_TASKS, f"{len(book.cells)} cells, not {MOST_CELLS_OF_TASKS} at most"
        with tempfile.TemporaryDirectory() as folder:
            try:
                nbclient.NotebookClient(book, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
            except nbclient.exceptions.CellExecutionError as error:
                sys.exit(f"{name}: {error}")
        failures = list(failures_of(book))
        assert not failures, f"{name}: {failures[0]}"
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{name}: {len(book.cells)} cells, {spent.ru_utime + spent.ru_stime:.0f} s of CPU so far", flush=True)


main()
