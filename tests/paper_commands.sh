#!/usr/bin/env bash
# The commands of docs/papers.md whose results are shipped still run: each in its smallest form, with trainings of one step. What takes no
# training is compared with the shipped results, a row or a few of each file; `papers` compares what the page says with these files and with the other commands.
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

# ships LETTER FILE PATTERN [LINES]: what of the command's lines (of LINES) the pattern fits stands in the shipped file.
ships() {
  local letter=$1 file=$2 pattern=$3 lines=${4:-$1.txt} line count=0
  [ -f "$file" ] || file=$source/docs/papers/$file
  while IFS= read -r line; do
    count=$((count + 1))
    grep -qF -- "$line" "$file" || { failures=$((failures + 1)); echo "FAILED: command $letter of docs/papers.md: ${file##*/} lacks: $line"; }
  done < <(grep -oE -- "$pattern" "$lines")
  [ "$count" -gt 0 ] || { failures=$((failures + 1)); echo "FAILED: command $letter of docs/papers.md gives no row to compare"; }
}

# table1 LETTER FILE OPTION...: a setting of NeuroShard's Table 1 without the learned planners.
table1() {
  local letter=$1 file=$2
  shift 2
  "$source/scripts/neuroshard_settings.sh" -s "$shardsim" -o "plain_$letter" "$@" 4x4 >"plain_$letter.txt" 2>&1 || cat "plain_$letter.txt"
  "$source/scripts/neuroshard_table1.py" "plain_$letter" 4x4 >"$letter.csv"
  ships "$letter" "$file" '^[a-z_]+,4,4,.*$' "$letter.csv"
}

starts C '^"?RM-1, 2 tiers, global_all_to_all ms' "$source/scripts/flexshard_band.py" "$shardsim" -n 1
# With the fitted knots: one law has another band than twelve.
sed -E 's/^("[^"]*"),[0-9]+,/\1,/' "$source/docs/papers/flexshard_band.csv" >band.csv
sed -E 's/^("[^"]*"),[0-9]+,/\1,/' C.txt >C.csv
ships C "$PWD/band.csv" '^"[^"]*",[^,]*,[^,]*,' C.csv
table1 F neuroshard_table1.csv -t 30 -p '[{name: greedy, score: size, label: size}, {name: greedy, score: lookup, label: lookup}, {name: neuroshard}]'
adagrad=workload.optimizer.name=rowwise_adagrad
starts H '^dreamshard,4,4,' "$source/scripts/neuroshard_settings.sh" -c dgx_h100 -a "$adagrad" -l -t 1 -s "$work/small" -o out 4x4 # F trains by the same lines
if ! grep -q '^left out of the training' H.txt; then
  failures=$((failures + 1))
  echo "FAILED: nothing says which tasks fit nowhere"
fi
table1 H neuroshard_h100.csv -c dgx_h100 -a "$adagrad" -t 20 -p '[{name: greedy, score: lookup, label: lookup}, {name: neuroshard}]'
starts E '^dim,1,"87\.6 .*","94\.5, 1\.835"' "$source/scripts/autoshard_ablation.sh" "$work/canned" 1 dim
starts J '^Usage' "$source/scripts/autoshard_figures.py" --help # likewise, eleven times
starts K 'Figure 4' "$source/scripts/neuroshard_figures.py" "$shardsim" --part figure4
ships K neuroshard_figures.csv '^"Figure 4.*$'
starts L '^20,2,dreamshard,' "$source/scripts/dreamshard_tasks.py" "$shardsim" 20x2
ships L dreamshard_tasks.csv '^20,2,.*$'
table1 M neuroshard_torchrec.csv -t 20 -a 'constraints={"*": {sharding_types: [table_wise, column_wise], compute_kernels: [fused]}}' \
  -p '[{name: torchrec, storage_reservation: {type: fixed_percentage, percentage: 0}}, {name: neuroshard}]'

# A command that the page gains belongs here, or into scripts/papers.py, which runs A, B, D, G, I, N and O.
listed=$(grep -oE '^\| [A-Z] \|' "$source/docs/papers.md" | tr -cd A-Z)
if [ "$listed" != ABCDEFGHIJKLMNO ]; then
  failures=$((failures + 1))
  echo "FAILED: the page lists the commands $listed, and this test knows ABCDEFGHIJKLMNO"
fi
[ "$failures" -eq 0 ]
