#!/usr/bin/env bash
# The commands of docs/papers.md whose results are shipped still run: each in its smallest form, with trainings of one step. What they
# give is not looked at; `papers` compares what the page says with the other commands and with the shipped files.
# Usage: paper_commands.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$1 source=$2
export SHARDSIM_DATA=$source
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

# The program as the commands call it, but that trains next to nothing and judges one task.
cat >small <<END
#!/bin/sh
case "\$1 \$2" in
  'autoshard train') exec "$shardsim" "\$@" --updates 1 --test 'test/4x4/0' ;;
  'dreamshard train') exec "$shardsim" "\$@" --iterations 1 --test 'test/4x4/0' ;;
esac
exec "$shardsim" "\$@"
END
# What a training prints, for a command that trains as the test autoshard does.
printf '#!/bin/sh\n[ "$1 $2" = "autoshard train" ] && echo "policy 10 94.5 90.1 3.1 1.835x"\n' >canned
chmod +x small canned

# starts LETTER PATTERN COMMAND...: it ends well, and prints the pattern.
starts() {
  local letter=$1 pattern=$2
  shift 2
  if ! "$@" >"$letter.txt" 2>&1 || ! grep -qE -- "$pattern" "$letter.txt"; then
    failures=$((failures + 1))
    echo "FAILED: command $letter of docs/papers.md: ${*##*/}: $(tail -n 3 "$letter.txt")"
  fi
}

starts C '^"?RM-1, 2 tiers, global_all_to_all ms' "$source/scripts/flexshard_band.py" "$shardsim" -n 1
starts F '^autoshard,4,128,' "$source/scripts/neuroshard_settings.sh" -l -t 1 -s "$work/small" -o out 4x128
if ! grep -q '^left out of the training' F.txt; then
  failures=$((failures + 1))
  echo "FAILED: nothing says which tasks fit nowhere"
fi
starts H '^dreamshard,4,4,' "$source/scripts/neuroshard_settings.sh" -c dgx_h100 -l -t 1 -s "$work/small" -o out 4x4 # the policies of F
starts E '^without dim +94\.5' "$source/scripts/autoshard_ablation.sh" "$work/canned" 1 dim
starts J '^Usage' "$source/scripts/autoshard_figures.py" --help # likewise, eleven times
starts K 'Figure 4' "$source/scripts/neuroshard_figures.py" "$shardsim" --part figure4

# A command that the page gains belongs here, or into scripts/papers.py, which runs A, B, D, G and I.
listed=$(grep -oE '^\| [A-Z] \|' "$source/docs/papers.md" | tr -cd A-Z)
if [ "$listed" != ABCDEFGHIJK ]; then
  failures=$((failures + 1))
  echo "FAILED: the page lists the commands $listed, and this test knows ABCDEFGHIJK"
fi
[ "$failures" -eq 0 ]
