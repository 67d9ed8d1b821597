#!/usr/bin/env bash
# shardsim-microbench: labels of all shards and points of a sweep, none lost when the process is killed, and bad input.
# Usage: microbench_shards.sh SHARDSIM-MICROBENCH SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# shards N: a file of N shards of two tables.
shards() {
  local list
  list=$(for ((i = 0; i < $1; i++)); do printf '"0:16 1:%d",' $((4 << i % 4)); done)
  cat <<JSON
{"schema": "shardsim.shards/1",
 "workload": {"schema": "shardsim.workload/1", "name": "pair", "batch_per_gpu": 512, "optimizer": {"name": "sgd"},
  "tables": [{"name": "a", "rows": 50000, "dim": 16, "kind": "pooled", "pooling_factor": 12.5,
              "access": {"family": "steps", "rows": [10, 9000], "weights": [100, 1]}},
             {"name": "b", "rows": 3000, "dim": 16, "kind": "pooled", "pooling_factor": 0.75}]},
 "batch": 512, "seed": 1, "max_tables": 2, "max_dim": 32, "max_bytes": "1 GiB",
 "shards": [${list%,}]}
JSON
}
bench=(--device cpu --threads 1 --visits 2 --warmup 1 --repetitions 3 --warm)

echo "-- labels"
shards 5 >five.json
run --shards five.json "${bench[@]}" -o labels.json
check "shards are measured: $(cat streams/err)" [ "$code" -eq 0 ]
check "each forward" [ "$(jq '[.forward_us[] | select(. > 0)] | length' labels.json)" -eq 5 ]
check "and backward" [ "$(jq '[.backward_us[] | select(. > 0)] | length' labels.json)" -eq 5 ]
check "by the CPU" [ "$(jq -r .provider labels.json)" = cpu ]
check "the shards stay as they were" [ "$(jq -c .shards labels.json)" = "$(jq -c .shards five.json)" ]
check "the journal is gone" [ ! -e labels.json.journal ]

echo "-- interruption"
shards 4000 >many.json
"$shardsim" --shards many.json "${bench[@]}" --seconds 20 -o many_labels.json >/dev/null 2>&1 &
pid=$!
# measured COUNT: so many lines of the journal.
measured() { [ "$(grep -c '^[0-9]' many_labels.json.journal)" -ge "$1" ]; }
until_true measured 20
kill -9 $pid
wait $pid 2>/dev/null || true
check "killed, it left no output" [ ! -e many_labels.json ]
kept=$(grep -c '^[0-9]' many_labels.json.journal)
check "but a journal of what was measured" [ "$kept" -ge 19 ]
head -n 10 many_labels.json.journal >before
printf '3999 12' >>many_labels.json.journal
"$shardsim" --shards many.json "${bench[@]}" --seconds 20 -o many_labels.json >/dev/null 2>&1 &
pid=$!
until_true measured $((kept + 5))
kill -INT $pid
code=0
wait $pid || code=$?
check "Ctrl-C ends it with 130, not $code" [ "$code" -eq 130 ]
check "it went on where it had stopped" [ "$(grep -c '^[0-9]' many_labels.json.journal)" -gt "$kept" ]
check "and kept what there was" cmp -s before <(head -n 10 many_labels.json.journal)
check "no visit was made twice" [ -z "$(grep '^[0-9]' many_labels.json.journal | cut -d' ' -f1 | sort | uniq -d)" ]
refuse 2 'journal: .*another measurement' --shards many.json "${bench[@]}" --seed 2 -o many_labels.json
shards 5 >own.json
cp many_labels.json.journal own_labels.json.journal
refuse 2 'own_labels.json.journal: .*another measurement: it says "shards ' --shards own.json "${bench[@]}" -o own_labels.json
echo 'my notes' >own_labels.json.journal
refuse 2 'own_labels.json.journal: it is no journal of measurements' --shards own.json "${bench[@]}" -o own_labels.json
rm own_labels.json.journal
mkfifo own_labels.json.journal
ends_within=20 refuse 1 'own_labels.json.journal: cannot write it: it is a link, a folder, a pipe or a device' --shards own.json "${bench[@]}" -o own_labels.json
rm own_labels.json.journal


echo "-- a sweep goes on where it was ended"
sweep=(--device cpu --threads 1 --grid small --rounds 2 -o sweep.json --csv sweep.csv)
# timed COUNT: so many points are in the journal.
timed() { [ "$(grep -c '"round"' sweep.json.journal)" -ge "$1" ]; }
"$shardsim" "${sweep[@]}" >/dev/null 2>&1 &
pid=$!
until_true timed 5
kill -9 $pid
wait $pid 2>/dev/null || true
check "killed, it left no output" [ ! -e sweep.json -a ! -e sweep.csv ]
more=$(($(grep -c '"round"' sweep.json.journal) + 3))  # a fast machine had measured many before it was killed
printf '{"round":0,"po' >>sweep.json.journal
env --default-signal=INT,TERM "$shardsim" "${sweep[@]}" >/dev/null 2>stopped </dev/null &
pid=$!
until_true timed "$more"
run "${sweep[@]}"
check "a second process is refused: $code $(cat streams/err)" grep -q '^error: sweep.json.journal: another process' streams/err
kill -INT $pid
ends $pid
check "Ctrl-C ends it with 130:$codes" [ "$codes" = ' 130' ]
check "soon, not after $took s" [ "$took" -le 2 ]
check "and says where all is: $(cat stopped)" grep -q '^error: stopped. What was measured is kept in sweep.json.journal: the same command continues' stopped
check "there is no half output" [ ! -e sweep.json -a ! -e sweep.csv ]
cp sweep.json.journal before
refuse 2 'sweep.json.journal: .*another measurement: it says "seed 1" where this one has "seed 2"' "${sweep[@]}" --seed 2
refuse 2 'sweep.json.journal: .*another measurement: .*"grid small".*"quick sweep"' --device cpu --threads 1 --quick -o sweep.json
refuse 2 'sweep.json.journal: .*another measurement: .*1 thread.*2 threads' --device cpu --threads 2 --grid small --rounds 2 -o sweep.json
echo '{"round": 0, "point": 100000}' >>sweep.json.journal
refuse 2 "sweep.json.journal:$(wc -l <sweep.json.journal): .*no line of this measurement" "${sweep[@]}"
sed 's/journal; [^;]*;/journal; 0.0.1;/' before >sweep.json.journal
refuse 2 'sweep.json.journal: .*another measurement: it says .*0.0.1' "${sweep[@]}"
sed 's/; on [^;]*;/; on elsewhere;/' before >sweep.json.journal
refuse 2 'sweep.json.journal: .*another measurement: it says "on elsewhere"' "${sweep[@]}"
cp before sweep.json.journal
"$shardsim" "${sweep[@]}" >/dev/null 2>stopped </dev/null &
pid=$!
until_true timed $(($(grep -c '"round"' before) + 1))
mkdir sweep.csv
ends $pid
check "an output that cannot be written at the end is 1:$codes" [ "$codes" = ' 1' ]
check "which says where all is: $(cat stopped)" grep -q '^error: .*sweep.csv: cannot write it.* What was measured is kept in sweep.json.journal' stopped
rmdir sweep.csv
cp sweep.json.journal before
run "${sweep[@]}"
check "the next call writes it: $(cat streams/err)" [ "$code" -eq 0 ]
check "and says so: $(cat streams/out)" grep -q "^$(grep -c '"round"' before) measurements of a call before this one" streams/out
check "every point has two rounds" jq -e '.points | length > 20 and all(.rounds_us | length == 2)' sweep.json >/dev/null
# The points stand in the order of the first round.
check "what was measured before is unchanged" jq -e -n --slurpfile kept <(grep '"round"' before) --slurpfile set sweep.json \
  '[$kept | sort_by(.round, .point) | group_by(.point) | to_entries[] | $set[0].points[.key].samples_us[:(.value | map(.samples_us | length) | add)] == (.value | map(.samples_us) | add)] | all' >/dev/null
check "its limits are those of the first call" jq -e -n --slurpfile first <(sed -n 2p before) --slurpfile set sweep.json \
  '$set[0].limits_before.launch_floor_us == $first[0].launch_floor_us' >/dev/null
check "the table is there, too" [ "$(grep -c '^s[0-9]' sweep.csv)" -gt 20 ]
check "the journal is gone" [ ! -e sweep.json.journal ]

echo "-- bad input"
refuse 2 'argument --csv: the value is empty' --device cpu --csv '' -o x.json
refuse 2 'argument --threads: "20000"' --device cpu --threads 20000 -o x.json
refuse 1 '/proc/x.json: cannot write it' --device cpu -o /proc/x.json
refuse 1 '/proc/x.csv: cannot write it' --device cpu -o x.json --csv /proc/x.csv
refuse 2 'argument --visits: .*--shards or --exchanges' --device cpu --visits 2 -o x.json
refuse 2 'argument --port: .*only together with --collectives or --exchanges' --device cpu --port 77 -o x.json
refuse 2 'argument --rounds: the option has no effect together with --collectives' --device cpu --collectives --rounds 2 -o x.txt
refuse 2 'argument --warm: .*--collectives' --device cpu --collectives --warm -o x.txt
refuse 2 'argument --untimed: .*--collectives --device cuda' --device cpu --collectives --untimed -o x.txt
refuse 2 'argument --quick' --shards five.json --quick --device cpu -o x.json
refuse 2 'x.csv.*\.json' --shards five.json --device cpu -o x.csv
refuse 2 'none.json' --shards none.json --device cpu -o x.json
head -c 300 five.json >cut.json
refuse 2 'cut.json' --shards cut.json --device cpu -o x.json
jq '.shards[0] = "2:16"' five.json >bad.json
refuse 2 'bad.json' --shards bad.json --device cpu -o x.json
jq '.workload.tables[0].rows = 0' five.json >bad.json
refuse 2 'bad.json.*rows' --shards bad.json --device cpu -o x.json
jq '.workload.optimizer.name = "lamb"' five.json >bad.json
refuse 2 'lamb' --shards bad.json --device cpu -o x.json
jq '.provider = "closed_form"' labels.json >bad.json
refuse 2 'bad.json: .*labels already' --shards bad.json --device cpu -o x.json
jq -n '{schema: "shardsim.exchanges/1", batch: 512, ranks: 4, seed: 1, max_dim: 32, columns: ["8 4 4 16", "12 0 4 8"],
       starts_ms: ["0 1 0 2", "0 0 0 0"]}' >four.json
refuse 2 'four.json: its exchanges are between 4 ranks, and there is only one. Start 4: torchrun' --device cpu --exchanges four.json -o x.json
refuse 2 'four.json: it holds exchanges, not shards' --device cpu --shards four.json -o x.json
refuse 2 'five.json: it holds shards, not exchanges' --device cpu --exchanges five.json -o x.json
refuse 2 'argument --warmup: .*--shards' --device cpu --exchanges four.json --warmup 2 -o x.json
refuse 2 'argument --quick: .*--exchanges' --device cpu --exchanges four.json --quick -o x.json
refuse 2 'argument --cluster: .*--exchanges' --device cpu --cluster dgx_h100 -o x.json
refuse 2 'x.txt.*\.json' --device cpu --exchanges four.json -o x.txt
export WORLD_SIZE=2 RANK=0 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2
refuse 2 'four.json: its exchanges are between 4 ranks, and 2 were started' --device cpu --exchanges four.json -o x.json
unset WORLD_SIZE RANK LOCAL_RANK LOCAL_WORLD_SIZE
refuse 2 'labels.json. holds labels of shards' --shards five.json "${bench[@]}" -o labels.json
finish 46
