#!/usr/bin/env bash
# No command that answers a question prints more than a terminal of 24 lines shows, notes and the place of its report
# included; the answer is among these lines, and --details prints all of it. Lists and files on standard output (lower,
# schema) are as long as what they list.
# Usage: first_screen.sh SHARDSIM SOURCE_DIR [RESULTS]     RESULTS: of shared_results.sh
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
shared=${3:+$(realpath "$3")}
. "$source/tests/cli/lib.sh"
[ -n "$shared" ] || { shared=$work/shared; bash "$source/tests/shared_results.sh" "$shardsim" "$source" "$shared"; }
ln -s "$source/scenarios" scenarios

# fits WHAT COMMAND...: prints no more than 24 lines, keeps them in streams/shown, and with --details says more.
fits() {
  local what=$1
  shift
  timeout "$patience" "$shardsim" "$@" >streams/shown 2>&1 </dev/null || fail "$what fails: $(tail -3 streams/shown)"
  is_brief "$what"
}
# fits_whole WHAT ARGS...: likewise, where nothing is left out.
fits_whole() {
  local what=$1
  shift
  timeout "$patience" "$shardsim" "$@" >streams/shown 2>&1 </dev/null || fail "$what fails: $(tail -3 streams/shown)"
  is_short "$what"
}
# shared_fits WHAT NAME: likewise, what a shared result printed.
shared_fits() {
  cp "$shared/$2.screen" streams/shown
  is_brief "$1"
}
is_short() { check "$1 prints $(wc -l <streams/shown) lines, not 24 at most" [ "$(wc -l <streams/shown)" -le 24 ]; }
is_brief() {
  local what=$1
  is_short "$what"
  check "$what says of --details what it leaves out" grep -q '^With --details: ' streams/shown
}
shows() { check "$1: $2" grep -qE -- "$2" streams/shown; }
says() { check "$1: $2" bash -c "tr '\n' ' ' <streams/shown | grep -qE -- '$2'"; }

fits flexshard run scenarios/flexshard.yaml -o out/flexshard
shows 'a line of why' '^rm1/flexshard_3tier: The iteration takes [0-9.]+ ms; [0-9.]+ ms of it \([0-9]+ %\) is '
says 'what TorchRec can run' ' TorchRec cannot run rm1/flexshard_3tier, which has tiers.*of these it can run rm1/row_wise, '
shows 'what to ask next' '^Next: shardsim why scenarios/flexshard.yaml --case rm1/flexshard_3tier$'
for model in rm1 rm2 rm3 rm4; do shows "a heading of $model" "^$model on a100_mesh_4x8: 32 GPUs"; done
for plan in 3tier 2tier; do check "$plan of every model" [ "$(grep -c "^  flexshard_$plan " streams/shown)" -eq 4 ]; done

# On a terminal of 80 columns a table loses whole columns, never a part of a number, and colours are of the sixteen.
for command in 'run scenarios/toy.yaml -o out/narrow' 'sweep scenarios/sweep_planners.yaml -o out/narrow_sweep' \
  'explain scenarios/sixty_tables.yaml --case chosen'; do
  script -qec "stty cols 80 rows 24; '$shardsim' $command" /dev/null </dev/null >streams/terminal 2>&1 || fail "$command fails on a terminal"
  check "$command cuts a number" [ "$(grep -cE '[0-9.]~ *.?$' streams/terminal)" -eq 0 ]
  check "$command says what it leaves out" grep -q 'A wider terminal also shows: ' streams/terminal
  # As many lines as there: one that is too long takes two.
  taken=$(sed 's/\r$//; s/.*\r//; s/\x1b\[[0-9;]*[A-Za-z]//g' streams/terminal | awk '{ taken += length($0) > 80 ? int((length($0) + 79) / 80) : 1 } END { print taken }')
  check "$command takes $taken lines of 80 columns, not 24 at most" [ "$taken" -le 24 ]
  check "$command has more than sixteen colours" [ "$(grep -c '\[[34]8;' streams/terminal)" -eq 0 ]
done

# What takes longer than a second says on a terminal that it goes on, and for how long.
script -qec "'$shardsim' check scenarios/sixty_tables.yaml" /dev/null </dev/null >streams/terminal 2>&1
check 'a check of some seconds is silent' grep -q 'checking, with the plan of each case, [1-9][0-9]* s' streams/terminal
check 'its last line of progress is put away' [ "$(sed 's/\r$//; s/.*\r//; s/\x1b\[[0-9;]*[A-Za-z]//g' streams/terminal | grep -c 'checking, with the plan of each case')" -eq 0 ]

# Fifty cases of which the same is to be said.
"$shardsim" check scenarios/torchrec_crosscheck.yaml >streams/shown 2>&1
check "check of fifty cases prints $(wc -l <streams/shown) lines, not 24 at most" [ "$(wc -l <streams/shown)" -le 24 ]
hidden=$(sed -n 's/^note: \([0-9]*\) more notes say the same of other cases; --details shows all$/\1/p' streams/shown)
"$shardsim" check scenarios/torchrec_crosscheck.yaml --details >whole 2>&1
check 'with --details it prints the notes that it had counted' [ "$(wc -l <whole)" -eq $(($(wc -l <streams/shown) - 1 + ${hidden:-0})) ]

fits toy run scenarios/toy.yaml -o out/toy
shows 'the chance of the first' '^  row_wise .* [0-9.]+$'
next=$(sed -n 's/^Next: shardsim //p' streams/shown)
check "what toy says to ask next runs: $next" bash -c "'$shardsim' $next >streams/why 2>&1"
mv streams/shown brief
"$shardsim" run scenarios/toy.yaml -o out/toy --details -q >whole
for part in '^HOW SURE' '^COLLECTIVES' '^NOTES' '^chance: the probability'; do
  check "--details shows $part" grep -q "$part" whole
  check "without it $part is left out" [ "$(grep -c "$part" brief)" -eq 0 ]
done
"$shardsim" run scenarios/toy.yaml -o out/toy -v 2>/dev/null >verbose
check "-v prints the details, too" cmp -s whole verbose


# What software and options would do stands where people look, not among the notes.
fits 'a sequence with duplicates' run scenarios/toy.yaml --case row_wise -o out/duplicates
says 'index_dedup' "With .index_dedup: true. in the workload, .* the iteration would take 0[.][0-9]+ ms, [0-9]+ % less, with its plan kept; planned anew it may take less"
fits 'an eager host' run scenarios/toy.yaml --case row_wise --set software=torchrec_eager -o out/eager
says 'other software' "For [0-9]+ % of the iteration a GPU only waits for its host: .*--set software=torchrec_compiled"

# next NAME ARGUMENTS...: what a run says to do next, runs.
next() {
  fits "$@"
  next=$(sed -n 's/^Next: shardsim //p' streams/shown)
  check "what $1 says to do next runs: $next" bash -c "cd next && '$shardsim' $next >../streams/next 2>&1"
}
mkdir next
ln -s "$source/scenarios" next/scenarios
printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\ncases: [{name: plans, planners: [row_wise, flexshard_2tier]}]\n' | tee next/compare.yaml >compare.yaml
next 'one of several cases' run scenarios/toy.yaml --case row_wise -o out/one_case
next 'planners that the file compares' run compare.yaml -o out/compare

# The next question is about the plan that the sentence of why is about, which is not the fastest where that is too large.
fits 'a plan that is too large' run scenarios/flexshard.yaml --case 'rm1/flexshard_*' --set cluster.gpu.hbm='9 GiB' --set cluster.gpu.reserved=0 -o out/large
shows 'the fastest that fits' '^rm1/flexshard_2tier: The iteration takes '
shows 'and asks about it' '^Next: shardsim why scenarios/flexshard.yaml --case rm1/flexshard_2tier --set .cluster.gpu.hbm=9 GiB. --set cluster.gpu.reserved=0$'

printf 'schema: shardsim.scenario/1\nworkload: toy_history\nplanner: {name: row_wise}\ncluster: {base: toy_2x4, nodes: 2}\ncases: [{name: two}, {name: one, cluster: {base: toy_2x4, nodes: 1}}]\n' >sizes.yaml
fits 'clusters of unlike size' run sizes.yaml -o out/sizes
shows 'the GPUs of each' '^  case +GPUs '
printf 'schema: shardsim.scenario/1\nworkload: toy_history\nplanner: {name: row_wise}\ncluster: hgx_h100_8x400g\ncases: [{name: h100}, {name: a100, cluster: {base: dgx_a100_80gb, nodes: 2}}, {name: b200, cluster: {base: hgx_b200_8x400g, nodes: 2}}]\nsweep: {axes: {cluster: [dgx_a100_80gb, hgx_h100_8x400g, hgx_b200_8x400g], workload.batch_per_gpu: [32, 64, 128, 256]}}\n' >unlike.yaml
fits 'clusters of unlike evidence' run unlike.yaml --set cluster.nodes=2 -o out/unlike
says 'that they were not measured alike' 'Not measured alike: how long exchanges take on .*dgx_a100_80gb.* and which is faster may come of that'
fits 'a sweep over clusters of unlike evidence' sweep unlike.yaml --case h100 -o out/unlike_sweep
says 'that these were not, either' 'Not measured alike: how long exchanges take on hgx_b200_8x400g, hgx_h100_8x400g, dgx_a100_80gb comes from'
fits 'two planners' run compare.yaml -o out/two
says 'how sure the first is' 'is faster than plans/[a-z_0-9]+ with a probability of'
fits 'all planners' run scenarios/toy.yaml --planners all -o out/planners
shows 'ranges' '^  planner +iteration ms +80 % within '
says 'which plan it may lose to' 'and than toy_history/[a-z_0-9]+ only with [0-9.]+ %; choosing it costs [0-9.]+ % on average compared with always choosing the faster one of it and toy_history/'
fits 'an option that turns the order round' run scenarios/toy.yaml -o out/toy
says 'which plan is the fastest with it' 'With .index_dedup: true. .TorchRec sends equal ids once. row_wise is the fastest of these plans: [0-9.]+ ms; planned anew'
fits 'planners of a model of which much is to be said' run scenarios/sixty_tables.yaml --planners row_wise,table_wise,flexshard_2tier,flexshard_3tier,data_parallel,greedy,torchrec -o out/many
check 'five planners at least stand in its table' [ "$(grep -cE '^  [a-z_0-9]+ +[0-9.]+ +[0-9.]+-' streams/shown)" -ge 5 ]
says 'that the host is all of it' 'The iteration takes [0-9.]+ ms; all of it is the host'
fits 'a GPU' run scenarios/one_gpu.yaml -o out/one_gpu
check 'one is no GPUs' [ "$(grep -cE '[^0-9,]1 GPUs' streams/shown)" -eq 0 ]
next=$(sed -n 's/^Next: shardsim //p' streams/shown)
check "what the planners' table says to do next runs: $next" bash -c "cd out && ln -s ../scenarios && '$shardsim' $next >../streams/plan 2>&1"
shared_fits 'published iterations' published
shows 'how far off' '^Of the [0-9]+ published times'
shared_fits 'a cross-check' crosscheck
fits 'why' why scenarios/flexshard.yaml --case rm1/flexshard_3tier
shows 'what would help' '^WHAT WOULD HELP'
fits 'a sweep' sweep scenarios/sweep_nics_batch.yaml -o out/sweep
shows 'its best point' 'Most samples per second: '
fits 'a sweep of planners' sweep scenarios/sweep_planners.yaml -o out/sweep_planners
says 'that TorchRec cannot run the best' 'TorchRec cannot run the plan of planner three tiers, .*; of these points it can run planner row_wise, '
says 'what index_dedup takes off' 'With .index_dedup: true. and its plan kept, the best point that TorchRec can run takes [0-9.]+ instead of'
says 'what its question marks stand for' '[?]: not counted in the range: '
fits 'drift' drift scenarios/sixty_tables.yaml --case chosen -o out/drift
shows 'the first day' '^ +0 +[0-9.]+ '
shows 'the last day' '^ +30 +[0-9.]+ '
fits 'compare' compare out/toy/timeline.h5 out/toy/timeline.h5
"$shardsim" run scenarios/flexshard.yaml --set cluster=a100_nvswitch_4x8 -o out/nvswitch -q >/dev/null
for other in flexshard nvswitch; do
  fits "flexshard beside $other" compare out/flexshard/timeline.h5 out/$other/timeline.h5
  for case in rm1/row_wise rm4/flexshard_3tier; do check "a line of $case" [ "$(grep -c "^  $case " streams/shown)" -eq 1 ]; done
done
says 'how many cases, and how far off' '^In 12 cases the first and the second differ by [0-9.]+ % in the median. The largest difference is that of rm4/flexshard_3tier: '
"$shardsim" workload sample tasks metasyn_856 --tasks 6 --test 2 --gpus 4 --min-tables 8 --max-tables 8 --max-dim 16 -o out/tasks.yaml 2>/dev/null
fits 'a trained policy' autoshard train out/tasks.yaml --updates 2 -o out/policy.h5
check 'a training begins with how its policy does' [ "$(head -1 streams/shown | grep -c '^On the 2 tasks that were held back, ')" -eq 1 ]
fits_whole 'a trained placing' dreamshard train out/tasks.yaml --iterations 1 -o out/placing.h5
check 'and so does the other one' [ "$(head -1 streams/shown | grep -c '^On the 2 tasks that were held back, ')" -eq 1 ]
fits 'a step of a trace' why --trace scenarios/measurements/traces/sampled_rank0.json.gz
says 'where its time goes' '^[^:]*: a step of 607.4 ms The step takes 607.4 ms: for 328.7 ms .54 %. the GPU waits for its host, '
fits 'confidence' confidence
fits 'collectives' collective compare --measurements scenarios/measurements/open -o out/collectives
for case in rm1/row_wise rm1/flexshard_3tier; do fits "the plan of $case" explain scenarios/flexshard.yaml --case $case; done
shows 'the slowest rank' '^maximum of total perf  *[0-9.]+ ms on ranks? '
shows 'and the fullest' '^most HBM  *[0-9.]+ GiB on ranks? '
fits 'a plan of sixty tables' explain scenarios/sixty_tables.yaml --case chosen
shows 'tables that have no room' '^and [0-9]+ others that take less time$'
for cluster in dgx_h100 dgx1_v100 gb200_nvl72 pcie_rtx6000d; do fits "the cluster $cluster" cluster show $cluster; done
shows 'paths between its GPUs' '^tier +GPU pairs'
"$shardsim" plan scenarios/toy.yaml --case flexshard_3tier -o out/tiers.json >streams/shown 2>/dev/null
check "plan -o prints $(wc -l <streams/shown) lines, not 6 at most" [ "$(wc -l <streams/shown)" -le 6 ]
shows 'how the plan cuts' '^The plan of flexshard_3tier for toy_history on toy_2x4, 8 GPUs: 1 table in tiers of rows[.]$'
says 'how long it takes' 'An iteration takes [0-9.]+ ms .80 % within [0-9.]+-[0-9.]+[?]?.; at its peak the fullest GPU holds [0-9.]+ [KM]iB of 16 GiB'
says 'what the question mark stands for' '[?]: not counted in the range: no published run on toy[.]'
says 'that TorchRec cannot run it' 'TorchRec cannot run it, for it has tiers of rows'
next=$(sed -n 's/^Next: shardsim //p' streams/shown)
check "what plan says to do next runs: $next" bash -c "'$shardsim' $next >streams/why 2>&1"
check 'without -o there is the plan alone' bash -c "'$shardsim' plan scenarios/toy.yaml --case row_wise 2>/dev/null | jq -e .plan >/dev/null"
fits 'kernels' compute compare --measurements scenarios/measurements/kernels -o out/kernels
shows 'its answer first' '^[0-9]+ measured kernels predicted by'
check 'the answer of kernels stands above their table' [ "$(grep -n 'measured kernels predicted' streams/shown | cut -d: -f1)" -lt "$(grep -n '^  kernel ' streams/shown | cut -d: -f1)" ]

finish 78
