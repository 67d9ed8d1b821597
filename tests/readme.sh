#!/usr/bin/env bash
# The README's commands run, and its console block shows exactly what its command prints.
# Usage: readme.sh SHARDSIM SOURCE_DIR
set -euo pipefail
binary=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$root/scenarios" "$work/scenarios"
cd "$work"
status=0 ran=0

# The block's first line is "$ ./run.sh ARGUMENTS", the rest its output.
awk '/^```console$/{on=1; next} /^```$/{on=0} on' "$root/README.md" >console.txt
command=$(sed -n '1s/^\$ \.\/run\.sh //p' console.txt)
[ -n "$command" ] || { echo "README.md: the console block has no command"; exit 1; }
tail -n +2 console.txt >expected.txt
# shellcheck disable=SC2086  # the arguments are words
"$binary" $command >printed.txt 2>&1
diff -u expected.txt printed.txt || { echo "README.md: 'shardsim $command' prints something else"; status=1; }

while read -r arguments; do
  # The test `emulated` runs these, alone on the machine.
  case $arguments in validate-emulated*) continue ;; esac
  ran=$((ran + 1))
  # shellcheck disable=SC2086
  "$binary" $arguments >/dev/null 2>err.txt || { echo "README.md: 'shardsim $arguments' failed: $(cat err.txt)"; status=1; }
done < <(awk '/^```sh$/{on=1; next} /^```$/{on=0} on' "$root/README.md" | sed -n 's/^\.\/run\.sh \([a-z][^#]*\).*/\1/p')
[ "$ran" -ge 4 ] || { echo "README.md: only $ran commands were found"; status=1; }
exit "$status"
