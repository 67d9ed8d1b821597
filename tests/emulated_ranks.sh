#!/usr/bin/env bash
# Checks the promises of `shardsim emulate` about its ranks and about what it leaves behind, and the results of ranks on it.
# Nothing here is judged by how long it takes, but for ends within seconds: tests/emulated.sh does that, alone on the machine.
# Exit 77 (skipped) with the reason where name spaces are not allowed; with SHARDSIM_REQUIRE_EMULATED=1 that is a failure.
# Usage: emulated_ranks.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# Two ranks of one node, which is all that most checks need.
two() { run emulate --nodes 1 --gpus-per-node 2 "$@"; }

echo "-- bad input"
refuse 2 'arguments: no command is given.*Usage' emulate --nodes 2
refuse 2 'arguments: no command is given' emulate --nodes 2 --
refuse 2 'argument --nodes: "65" is not a whole number from 1 to 64' emulate --nodes 65 -- true
refuse 2 'argument --nodes: 80 ranks are too many' emulate --nodes 20 -- true
refuse 2 'argument --nodes: ' emulate --nodes -1 -- true
refuse 2 'argument --nodes: "0" is not a whole number from 1 to 64' emulate --nodes 0 -- true
refuse 2 'argument --nodes: "100000" is not a whole number from 1 to 64' emulate --nodes 100000 -- true
refuse 2 'argument --gpus-per-node: ' emulate --gpus-per-node 0 -- true
refuse 2 'argument --fast: .*unit' emulate --fast 240 -- true
refuse 2 'argument --nic: .*10 Gbit/s' emulate --nic 100Gbit -- true
refuse 2 'argument --straggler: "8" is not a whole number from 0 to 7' emulate --straggler 8 -- true
refuse 2 'argument --nodez: .*--nodes' emulate --nodez 2 -- true
refuse 2 'argument true' emulate true
refuse 2 "argument --iterations: there is no scenario" validate-emulated --iterations 3
refuse 2 'argument --jsn: .*--json' validate-emulated --jsn
SHARDSIM_DATA=$work/nowhere refuse 2 'environment variable SHARDSIM_DATA: .* is no folder' validate-emulated
for command in emulate validate-emulated; do
  run $command --help
  check "$command --help exits 0" [ "$code" -eq 0 ]
  check "$command --help names its usage" grep -q "^Usage: shardsim $command" streams/out
  check "$command --help ends with two examples" [ "$(sed -n '/^Examples:/,$p' streams/out | grep -c "^  shardsim $command")" -eq 2 ]
done

two -- true
# A rank that fails at `true` says nothing: that is a fault, and no machine that cannot do it.
check "ranks run at all: code $code" [ -s streams/err -o "$code" -eq 0 ]
[ "$code" -eq 0 ] || skip SHARDSIM_REQUIRE_EMULATED "$(cat streams/err)"

echo "-- ranks"
run emulate -- sh -c 'echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, $MASTER_ADDR:$MASTER_PORT; cat'
check "every rank has its place: $(cat streams/err)" [ "$(sort streams/out | sed -n '7p')" = '6 of 8, 2 of 4, 10.2.0.1:29400' ]
check "there are eight" [ "$(wc -l <streams/out)" -eq 8 ]
two --straggler 1 -- sh -c '[ $RANK = 0 ] || tc qdisc show dev nic0'
check "the straggler's NIC has half the rate: $(cat streams/out)" grep -q 'rate 10Mbit burst 1600b' streams/out
two --fast 100Mbit --nic '5 Mbit/s' -- sh -c '[ $RANK = 0 ] || tc qdisc show'
check "rates are as asked for: $(cat streams/out)" [ "$(grep -cE 'nv0 .*rate 100Mbit|nic0 .*rate 5Mbit' streams/out)" -eq 2 ]
two -- sh -c 'echo $RANK; exit 0' --help
check "options after -- belong to the command" [ "$(wc -l <streams/out)" -eq 2 ]

run emulate --help
while IFS= read -r line; do
  check "the example '$line' runs" bash -euc "shardsim() { '$shardsim' \"\$@\"; }; $line" >streams/example
  check "the example '$line' prints something" [ -s streams/example ]
done < <(sed -n '/^Examples:/,$p' streams/out | tail -n +2)

echo "-- exit codes"
two -- sh -c 'exit $((RANK * 9))'
check "the code of the rank that failed: $code" [ "$code" -eq 9 ]
two -- sh -c '[ $RANK = 0 ] || kill -9 $$'
check "a rank that is killed: $code" [ "$code" -eq 137 ]
two -- no_such_command
check "a command that is not there: $code" [ "$code" -eq 127 ]
check "it is named once" [ "$(grep -c '^error: no_such_command: ' streams/err)" -eq 1 ]

echo "-- nothing is left"
# Processes that carry the mark, whatever their parents.
marked() { { grep -zls "^MARK=$1\$" /proc/[0-9]*/environ || true; } 2>/dev/null | wc -l; }
named() { find /run/netns -type f 2>/dev/null | wc -l; }
before=$(named || true)
MARK=daemon$$ two -- sh -c 'setsid sleep 300 & exit 0'
sleep 0.2
check "a daemon of a rank ends with the cluster" [ "$(marked daemon$$)" -eq 0 ]
for signal in KILL TERM INT; do
  MARK=$signal$$ setsid "$shardsim" emulate --nodes 1 --gpus-per-node 2 -- sh -c 'setsid sleep 300 & sleep 300' >streams/out 2>streams/err &
  victim=$!
  for _ in $(seq 100); do [ "$(marked $signal$$)" -ge 6 ] && break; sleep 0.1; done
  check "the ranks run before SIG$signal" [ "$(marked $signal$$)" -ge 6 ]
  kill -s $signal $victim
  wait $victim 2>/dev/null || true
  sleep 0.3
  check "SIG$signal leaves no process" [ "$(marked $signal$$)" -eq 0 ]
done
# Ctrl-C on a terminal reaches the tools that set the cluster up, too: that is no failure of theirs.
for after in 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5; do
  setsid env --default-signal=INT "$shardsim" emulate --nodes 2 --gpus-per-node 4 -- sleep 300 >streams/out 2>streams/err &
  victim=$!
  begun "$victim" "$shardsim"
  sleep $after
  kill -s INT -- -$victim
  code=0
  wait $victim || code=$?
  check "Ctrl-C after $after s ends it with 130, not $code: $(cat streams/err)" [ "$code" -eq 130 ]
  check "... and in one line at most: $(cat streams/err)" [ "$(grep -vc '^error: stopped' streams/err)" -eq 0 ]
done
check "no name space has a name outside" [ "$(named || true)" = "$before" ]

echo "-- as an ordinary user"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work"
  cp "$shardsim" shardsim_of_all
  cp "$(dirname "$shardsim")/shardsim_simgrid.so" .  # the one network that is a file of its own
  chmod 755 shardsim_of_all
  code=0
  setpriv --reuid 65534 --regid 65534 --clear-groups ./shardsim_of_all emulate --nodes 1 --gpus-per-node 2 -- true 2>streams/err || code=$?
  if [ "$code" -ne 0 ]; then echo "not tried: $(cat streams/err)"; else check "it works without root" [ "$code" -eq 0 ]; fi
  code=0
  setpriv --bounding-set -all ./shardsim_of_all emulate -- true >streams/out 2>streams/err || code=$?
  check "root without rights is refused with the reason: $(cat streams/err)" grep -q '^error: the emulated cluster cannot be built: making name spaces: ' streams/err
  check "... and code 1, not $code" [ "$code" -eq 1 ]
  code=0
  setpriv --bounding-set -all ./shardsim_of_all validate-emulated >streams/out 2>streams/err || code=$?
  check "validate-emulated skips then, not $code: $(cat streams/err)" [ "$code" -eq 77 ]
  code=0
  SHARDSIM_DATA=$work/nowhere setpriv --bounding-set -all ./shardsim_of_all validate-emulated >streams/out 2>streams/err || code=$?
  check "its data is asked for before anything else, not $code: $(cat streams/err)" [ "$code" -eq 2 ]
fi

validate=$(dirname "$shardsim")/shardsim-validate
if [ -x "$validate" ]; then
  echo "-- ranks that fail"
  "$shardsim" lower "$source/scenarios/toy.yaml" --case row_wise -o program.json
  # took WHAT: the run that began at $from, or whose rank was killed then, ended within 10 s of it, and a second for the cluster itself.
  took() { check "$1 ends the others within 10 s: $((SECONDS - from)) s" [ $((SECONDS - from)) -le 11 ]; }
  from=$SECONDS
  run emulate -- sh -c '[ $RANK = 3 ] || exec "$0" program.json --warmup 1 --iterations 3 -o late.timeline.json --join-limit 6' "$validate"
  took "a rank that never starts"
  check "a rank that never starts fails the run: $code" [ "$code" -eq 1 ]
  check "seven ranks name it: $(cat streams/err)" [ "$(grep -c '^error: rank 3 did not come' streams/err)" -eq 7 ]
  check "it leaves no Timeline" [ ! -e late.timeline.json ]
  # By then all of them iterate, also on a slow machine; the seconds count from the kill.
  run emulate -- sh -c '[ $RANK = 3 ] && { sleep 10; date +%s >killed; kill -9 $$; } & exec "$0" program.json --warmup 2 --iterations 100000 -o died.timeline.json' "$validate"
  from=$((SECONDS - ($(date +%s) - $(cat killed))))
  took "a rank that is killed"
  check "a rank that is killed fails the run: $code" [ "$code" -eq 137 ]
  check "seven ranks name it: $(cat streams/err)" [ "$(grep -c '^error: rank 3 died' streams/err)" -eq 7 ]
  check "what was measured is on disk, marked incomplete" [ "$(jq .complete died.timeline.json)" = false ]
fi

echo "-- a sweep of collectives"
run emulate --nodes 1 --gpus-per-node 2 -- "$(dirname "$shardsim")/shardsim-microbench" --device cpu --collectives --quick -o sweep.txt
check "two ranks sweep all-reduce and all-to-all: $(cat streams/err)" [ "$(grep -c ' N/A$' sweep.txt)" -eq 10 ]
# By force: on a busy machine a few noisy rows may fit worse than the file, which is not what this is about.
run cluster calibrate --cluster emulated_2x4 --measurements sweep.txt -o swept.yaml --force
check "a cluster is calibrated to it: $(cat streams/err)" [ -s swept.yaml ]

echo "-- exchanges"
"$shardsim" cost-model sample metasyn_856 -n 20 --batch 64 --max-dim 8 --exchanges 4 -o drawn.json
run emulate --nodes 2 --gpus-per-node 2 -- "$(dirname "$shardsim")/shardsim-microbench" --device cpu --exchanges drawn.json --cluster emulated_2x4 --visits 1 -o exchanges.json
check "four ranks label exchanges: $(cat streams/err)" [ "$(jq '.forward_us | length' exchanges.json)" -eq 20 ]
check "on two nodes" [ "$(jq -r .topology exchanges.json)" = 'emulated_2x4 of 2 nodes' ]

echo "-- the data of every plan"
for plan in row_wise flexshard_2tier flexshard_3tier; do
  "$shardsim" lower "$source/scenarios/emulated.yaml" --case $plan -o $plan.json >/dev/null
  run emulate -- "$validate" $plan.json --check-data --iterations 2
  check "$plan equals a single process bit for bit: $(cat streams/err)" [ "$(grep -c 'bit for bit after 2' streams/out)" -eq 1 ]
done

finish 62
