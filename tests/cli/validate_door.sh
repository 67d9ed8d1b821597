#!/usr/bin/env bash
# The door of rank 0: strangers neither take a rank's place nor its memory, and hold up nobody.
# Usage: validate_door.sh VALIDATE SOURCE_DIR
set -euo pipefail
validate=$(realpath "$1") source=$(realpath "$2")
shardsim=$validate
. "$source/tests/cli/lib.sh"

program=$source/tests/program/data/toy_program.json  # of 2 nodes of 4 ranks; here a process for each node
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
strangers() { timeout "$patience" python3 "$source/tests/cli/strangers.py" "$@"; }
# start NAME RANK ARGUMENT...: a process as a launcher starts it, at $port, in the background; its streams in NAME.*
start() {
  local name=$1 rank=$2
  shift 2
  RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=${master:-127.0.0.1} MASTER_PORT=$port \
    ${measured:-} timeout "$patience" "$validate" "$program" --warmup 1 --iterations 2 -o "$name.timeline.json" "$@" \
    >"streams/$name.out" 2>"streams/$name.err" </dev/null &
}
# The most memory that the process which a `timeout` watches has had so far, in MiB.
peak() { awk '/^VmHWM/ {print int($2 / 1024)}' "/proc/$(pgrep -P "$1")/status" 2>/dev/null || echo 0; }
# listens: until somebody does at $port.
listens() { until_true grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp || fail "nobody listens at $port"; }
# has_connections COUNT: from somewhere to $port, also those that rank 0 has closed again.
has_connections() { [ "$(grep -c "^ *[0-9]*: [0-9A-F]*:[0-9A-F]* [0-9A-F]*:$(printf %04X "$port") 0[18] " /proc/net/tcp)" -ge "$1" ]; }

echo "-- secrets"
ranks='RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1'
environment() { env $ranks MASTER_PORT=29999 "$@"; }
refused() {
  local pattern=$1 code=0
  shift
  environment "$@" "$validate" "$program" -o x.timeline.json >streams/out 2>streams/err </dev/null || code=$?
  check "exit code $code, not 2: $*" [ "$code" -eq 2 ]
  check "one line that has /$pattern/: $(cat streams/err)" grep -qE "^error: .*$pattern" streams/err
}
refused 'SHARDSIM_SECRET: not set.*192.0.2.77.*export SHARDSIM_SECRET=.*urandom' MASTER_ADDR=192.0.2.77
refused 'SHARDSIM_SECRET: a secret has 16 to 4096 bytes, this one 4' MASTER_ADDR=127.0.0.1 SHARDSIM_SECRET=1234
refuse 2 'no_such_file: the secret cannot be read' "$program" -o x.timeline.json --secret-file no_such_file
code=0 from=$SECONDS
environment MASTER_ADDR=192.0.2.77 SHARDSIM_SECRET=0123456789abcdef "$validate" "$program" -o x.timeline.json \
  >streams/out 2>streams/err </dev/null || code=$?
check "an address of another host ends with 1: $code" [ "$code" -eq 1 ]
check "it is named: $(cat streams/err)" grep -q 'rank 0 cannot listen at MASTER_ADDR "192.0.2.77"' streams/err
check "the other ranks of its process do not wait for it: $((SECONDS - from)) s" [ $((SECONDS - from)) -le 20 ]

export SHARDSIM_SECRET=$(head -c 32 /dev/urandom | base64)

echo "-- a host that nobody knows, as a misspelt line of a hostfile makes it"
port=$(port) pids=()
for rank in 0 1; do master=gpu99.invalid start unknown$rank $rank; pids+=($!); done
ends "${pids[@]}"
check "every rank ends with 2: $codes" [ "$codes" = " 2 2" ]
check "and soon: $took s" [ "$took" -le 40 ]
for node in 0 1; do  # whose first ranks are 0 and 4
  check "both processes name it: $(cat streams/unknown$node.err)" grep -qE \
    "^error: environment variable MASTER_ADDR: rank $((4 * node)) on $(hostname) finds no host .gpu99.invalid.*getent hosts" streams/unknown$node.err
done

echo "-- another secret"
head -c 32 /dev/urandom | base64 >another
chmod 600 another
port=$(port)
start zero 0 --secret-file another
zero=$!
start one 1 --secret-file another
ends $zero $!
check "ranks with a secret of a file meet:$codes $(cat streams/*.err)" [ "$codes" = ' 0 0' ]
if own=$(hostname -I 2>/dev/null | cut -d' ' -f1) && [ -n "$own" ]; then
  port=$(port) master=$own
  start zero 0
  zero=$!
  listens
  check "rank 0 listens at MASTER_ADDR alone" grep -qiE "^ *[0-9]+: $(printf '%02X%02X%02X%02X' $(tr . '\n' <<<"$own" | tac)):$(printf %04X "$port") " /proc/net/tcp
  start one 1
  ends $zero $!
  check "ranks meet at an address of this host:$codes $(cat streams/*.err)" [ "$codes" = ' 0 0' ]
  master=
fi

echo "-- a rank with another secret"
port=$(port)
start zero 0
zero=$!
start wrong 1 --secret-file another --join-limit 20
ends $!
check "it ends with 1:$codes" [ "$codes" = ' 1' ]
check "it says why: $(cat streams/wrong.err)" grep -q 'has another secret than rank' streams/wrong.err
start one 1
ends $zero $!
check "the others meet:$codes $(cat streams/zero.err streams/one.err)" [ "$codes" = ' 0 0' ]
check "rank 0 says how many it turned away: $(cat streams/zero.err)" grep -qE '^note: rank 0 turned away [1-9][0-9]* connections? ' streams/zero.err

echo "-- a stranger asks for the place of rank 4"
port=$(port)
start zero 0
zero=$!
listens
strangers hello "$port" 4 8 >streams/hello
check "it gets nothing but an end: $(cat streams/hello)" [ "$(grep -c "^b''$" streams/hello)" -eq 2 ]
timeout "$patience" python3 "$source/tests/cli/strangers.py" silent "$port" 200 600 >streams/silent &
silent=$!
until_true has_connections 200
start one 1
ends $zero $!
check "the ranks meet all the same, beside 200 that say nothing:$codes $(cat streams/zero.err)" [ "$codes" = ' 0 0' ]
check "within 15 s: $took" [ "$took" -le 15 ]
kill $silent 2>/dev/null || true

echo "-- a flood"
port=$(port)
start zero 0
zero=$!
listens
calm=$(peak $zero)
strangers flood "$port" 10 >streams/flood &
flood=$!
until_true has_connections 100
sleep 3  # of it
flooded=$(peak $zero)
start one 1
ends $zero $!
check "the ranks meet in it:$codes $(cat streams/zero.err streams/one.err)" [ "$codes" = ' 0 0' ]
wait $flood || true
check "it was one: $(cat streams/flood)" [ "$(cat streams/flood)" -ge 500 ]
check "rank 0 keeps nothing of it: $calm MiB before, $flooded MiB after" [ "$flooded" -le $((calm + 32)) ]

echo "-- a rank that sends 8 GiB"
port=$(port)
# Rank 0 runs ranks 0 to 3, and ranks 4 to 7 come by hand.
# Its peak is what the system counted at its end, for rank 0 may end before anybody could look.
measured="python3 $source/tests/cli/peak_of.py giant_peak" start zero 0
zero=$!
listens
pids=
for rank in 4 5 6 7; do strangers giant "$port" $rank 8 >"streams/giant$rank" 2>&1 & pids+=" $!"; done
ends $zero
largest=$(cat giant_peak || echo 0)
check "rank 0 fails:$codes" [ "$codes" = ' 1' ]
check "it names the rank and what it sent: $(cat streams/zero.err)" grep -qE '^error: .*rank [4-7] failed: it sent a message of 8589934592 bytes' streams/zero.err
check "it took no memory: $largest MiB" [ "$largest" -gt 0 ] && [ "$largest" -le 1000 ]
ends $pids
check "the senders see it: $(cat streams/giant*)" [ "$(cat streams/giant* | grep -c 'hung up')" -eq 4 ]
check "no process is left" [ -z "$(pgrep -f "$work/" || true)" ]
finish 24
