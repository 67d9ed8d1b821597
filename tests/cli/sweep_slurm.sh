#!/usr/bin/env bash
# shardsim sweep --slurm with a slurmctld and slurmds of its own, on ports and in folders of this test: the bytes of a local
# run, a node that is killed, a controller that is not there. Usage: sweep_slurm.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
for program in slurmctld slurmd sbatch squeue scontrol munged; do
  command -v $program >/dev/null || PATH=$PATH:/usr/sbin
  command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: slurmd wants root"; exit 77; }
id munge >/dev/null 2>&1 || { echo "skipped: no user munge"; exit 77; }
. "$source/tests/cli/lib.sh"
chmod 755 "$work"

same_results() { cmp -s "$1/sweep.csv" "$2/sweep.csv" && cmp -s "$1/sweep.h5" "$2/sweep.h5" && cmp -s "$1/report.html" "$2/report.html"; }
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# munged as its own user, with a key and a socket of this test.
mkdir -p munge state spool logs
head -c 1024 /dev/urandom >munge/key
chown -R munge munge
chmod 700 munge && chmod 600 munge/key
chmod 711 munge
processes=()
stop_all() {
  for process in "${processes[@]}"; do kill -TERM "$process" 2>/dev/null || true; done
  for process in "${processes[@]}"; do patience=5 until_true test ! -d "/proc/$process" || kill -KILL "$process" 2>/dev/null || true; done
  chmod -R u+rwx "$work"
  rm -rf "$work"
}
trap stop_all EXIT
setpriv --reuid munge --regid munge --clear-groups munged --foreground --force --socket="$work/munge/socket" \
  --key-file="$work/munge/key" --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" >logs/munged.out 2>&1 &
processes+=($!)
patience=60 until_true test -S munge/socket || { echo "skipped: munged does not start here: $(cat munge/log 2>/dev/null)"; exit 77; }

host=$(hostname -s)
export SLURM_CONF=$work/slurm.conf
cat >slurm.conf <<C
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$(port)
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/state/slurmctld.pid
SlurmdPidFile=$work/spool/%n.pid
SlurmctldLogFile=$work/logs/slurmctld
SlurmdLogFile=$work/logs/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=10
SchedulerParameters=sched_interval=1
MailProg=/bin/true
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=2 State=UNKNOWN
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=2 State=UNKNOWN
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP
C
mkdir -p spool/one spool/two
slurmctld -D >logs/slurmctld.out 2>&1 &
processes+=($!)
controller=$!
declare -A nodes
for node in one two; do
  slurmd -D -N $node >"logs/$node.out" 2>&1 &
  processes+=($!)
  nodes[$node]=$!
done
idle() { [ "$(sinfo -h -N -o %t | grep -c '^idle$')" -eq 2 ]; }
patience=120 until_true idle || { echo "skipped: Slurm does not start here: $(tail -3 logs/slurmctld.out logs/one.out; sinfo 2>&1)"; exit 77; }

many() {
  printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\npayload: planned\nsweep:\n'
  printf '  random: {points: %s, seed: 3, axes: {cluster.nics.rate: {from: 10 Gbit/s, to: 100 Gbit/s}, workload.batch_per_gpu: {from: 8, to: 64}}}\n' "$1"
}
many 300 >many.yaml
many 2000 >more.yaml
none_left() { [ -z "$(squeue -h)" ]; }

echo "-- the same bytes"
run sweep many.yaml -o local -q
check "a local run ($code): $(cat streams/err)" [ "$code" -eq 0 ]
run sweep many.yaml -o array --slurm 3
check "the array is submitted ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "its number is told: $(cat streams/out)" grep -qE '^Slurm job [0-9]+: 3 tasks for 300 points' streams/out
check "the tasks end" until_true none_left
check "whoever ends last writes the results: $(cat array/points/slurm-*.txt)" [ -e array/sweep.csv ]
check "with the bytes of a local run" same_results local array
run sweep many.yaml -o array --slurm 3
check "a finished sweep is not submitted again: $(cat streams/err)" grep -q '300 of them were finished before' streams/err

echo "-- a node is killed in the middle"
run sweep more.yaml -o whole -q
run sweep more.yaml -o killed --slurm 2 -j 1
running() { [ "$(stat -c %s killed/points/part-0-of-2.points 2>/dev/null || echo 0)" -gt 20000 ] && [ "$(stat -c %s killed/points/part-1-of-2.points 2>/dev/null || echo 0)" -gt 20000 ]; }
check "both tasks are at work: $(squeue)" until_true running
code=0
"$shardsim" sweep more.yaml -o killed >streams/second 2>&1 </dev/null || code=$?
check "a local call meanwhile is refused ($code): $(cat streams/second)" grep -q 'another shardsim is writing' streams/second
# The whole node: its daemon, the step's, and the task.
for process in $(cat "/proc/${nodes[two]}/task/"*/children) "${nodes[two]}"; do kill -KILL "$process" 2>/dev/null || true; done
for process in $(pgrep -x shardsim) $(pgrep -x slurmstepd); do
  tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -x "SLURM_CONF=$SLURM_CONF" >/dev/null || continue
  tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -x 'SLURMD_NODENAME=two' >/dev/null && kill -KILL "$process"
done
scancel -u root
check "the array ends" until_true none_left
kept=$(cat killed/points/*.points | wc -c)
check "what was finished is kept" [ "$kept" -gt 40000 ]
free() { timeout "$patience" "$shardsim" sweep more.yaml -o killed >streams/out 2>streams/err </dev/null; }
check "a call without --slurm goes on" until_true free
check "from there: $(cat streams/err)" grep -qE '^note: [0-9,]+ of them were finished before$' streams/err
check "and gives the same bytes" same_results whole killed

echo "-- nobody to submit to"
kill -KILL "$controller"
wait "$controller" 2>/dev/null || true
code=0
timeout "$patience" "$shardsim" sweep many.yaml -o lost --slurm 2 -q >streams/out 2>streams/err </dev/null || code=$?
check "a controller that is gone is one error ($code): $(cat streams/err)" [ "$code" -eq 1 ]
check "in sbatch's words" grep -qE '^error: sbatch has refused .*: .*(ontroller|onnect)' streams/err
check "nothing on stdout" [ ! -s streams/out ]
mkdir no_slurm
for program in sh env; do ln -s "$(command -v $program)" no_slurm/; done
code=0
PATH=$work/no_slurm "$shardsim" sweep many.yaml -o lost --slurm 2 -q >streams/out 2>streams/err </dev/null || code=$?
check "no sbatch at all is one error ($code): $(cat streams/err)" grep -q '^error: the command sbatch' streams/err
finish 14
