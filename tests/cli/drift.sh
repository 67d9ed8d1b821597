#!/usr/bin/env bash
# A plan that is kept while the world changes: laws of its days, and what is refused. Usage: drift.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
cat >s.yaml <<'YAML'
schema: shardsim.scenario/1
cluster: toy_2x4
workload:
  name: own
  batch_per_gpu: 512
  tables:
    - {name: history, rows: 400000, dim: 64, kind: sequence, average_length: 50, access: {family: zipf, s: 1.0}}
    - {name: bag, rows: 100000, dim: 64, kind: pooled, pooling_factor: 5}
planner: {name: flexshard_3tier, bandwidths: simulated, pooled: row_wise}
drift: {days: 5, rotation: "10 %/day", tables: "history"}
YAML
law() { check "$1" jq -e "$2" "$3/drift.json" >/dev/null; }

run drift s.yaml -o a
check "it runs: $(cat streams/err)" [ "$code" -eq 0 ]
law "six days, from 0 on" '[.days[].day] == [0, 1, 2, 3, 4, 5]' a
law "nothing moves on day 0" '.days[0] | .moved_bytes == 0 and .frozen_ms == .best_ms and .saved_s == 0' a
law "the kept plan gets slower every day" '[.days[].frozen_ms] as $t | [range(5) | $t[.] < $t[. + 1]] | all' a
law "rotation alone leaves the best plan's time as it was" '[.days[].best_ms] | (max - min) / max < 1e-9' a
law "more has to move every day" '[.days[].moved_bytes] as $m | [range(5) | $m[.] < $m[. + 1]] | all' a
law "the day of break-even is the first that saves more than moving" \
  '.break_even_day == ([.days[] | select(.saved_s > .moving_s) | .day] | first)' a
law "each time has its interval" '[.days[] | .frozen_low_ms < .frozen_ms and .frozen_ms < .frozen_high_ms and .best_low_ms < .best_ms and .best_ms < .best_high_ms] | all' a
law "of the same plan nobody says that it is faster, and choosing it costs nothing" '.days[0] | .chance == 0.5 and .regret_pct == 0 and .frozen_regret_pct == 0' a
law "a new plan is more likely faster than not" '[.days[1:][].chance > 0.5] | all' a
law "keeping the old one costs at least what it is slower by, and more every day" \
  '[.days[] | .frozen_regret_pct >= 100 * (.frozen_ms / .best_ms | log) - 1e-6] + ([.days[].frozen_regret_pct] as $r | [range(5) | $r[.] < $r[. + 1]]) | all' a
run run s.yaml -q --json -o once
check "its interval is that of run" [ "$(jq -c '.days[0] | [.frozen_low_ms, .frozen_high_ms]' a/drift.json)" = "$(jq -c '.cases[0].interval | [.low_ms, .high_ms]' once/result.json)" ]
check "and names what was never measured" [ "$(jq -c .outside a/drift.json)" = "$(jq -c '.cases[0].interval.outside' once/result.json)" ]
check "day 0 is the iteration of run" [ "$(jq '.days[0].frozen_ms' a/drift.json)" = "$(jq '.cases[0].iteration_ms' once/result.json)" ]
run drift s.yaml -j 1 -o b
check "the same for any -j" cmp -s a/drift.json b/drift.json
run drift s.yaml --set drift.pause="1000000 s" -o c
law "a pause that is never saved never pays" '.break_even_day == null' c
run drift s.yaml --set planner='{name: row_wise}' -o d
law "rows that a hash spreads do not care who is popular" '[.days[].frozen_ms] | max == min' d
run drift s.yaml --set planner='{name: row_wise}' --set drift='{days: 8, growth: 2 %/day}' -o g
law "rows that join leave the others where they are: no day is another world" '[.days[].frozen_ms] | max < 1.01 * min' g
run drift s.yaml --set drift='{days: 3, growth: 0.1, batch: 5 %/day, exponent: -0.05, tables: history}' -o e
check "growth, batch and exponent: $(cat streams/err)" [ "$code" -eq 0 ]
law "memory grows" '.days[3].frozen_bytes > .days[0].frozen_bytes' e
law "the best is never slower than the kept plan" '[.days[] | .best_ms <= .frozen_ms * (1 + 1e-9)] | all' e

# A table that doubles every day, on one rank: from day 8 on it has more than the 16 GiB of a GPU.
says() { tr '\n' ' ' <streams/out | grep "$1" >/dev/null; }  # wherever lines end

# A search with few evaluations: its plan of a later day is a luckier one, and faster on day 0, too.
{ sed '/name: bag/d; /^planner/d; /^drift/d' s.yaml; cat <<'YAML'
    - {name: bag, copies: 16, rows: 100000, dim: 64, kind: pooled, pooling_factor: 5}
    - {name: more, copies: 9, rows: 30000, dim: 32, kind: pooled, pooling_factor: 11}
planner: {name: search, evaluations: 60}
drift: {days: 3, growth: "0.5 %/day", tables: history}
YAML
} >luck.yaml
run drift luck.yaml -o luck
law "the luck of a search is no reason to move" '.reshard_every_days == null' luck
law "no plan of a later day is tellingly ahead of the best one of day 0" '(.days[0] | .frozen_ms / .best_ms) as $start | [.days[] | .frozen_ms / .best_ms < 1.03 * $start] | all' luck
law "that one is from a later day" '.days[0].best | test("^search of day [1-3]$")' luck
check "and the answer begins with it: $(cat streams/out)" says 'Begin with another plan: on day 0 already that which search makes on day'

grown() { run drift s.yaml --set planner='{name: table_wise}' --set drift="{days: 9, growth: 100 %/day, tables: history, planners: [$1]}" -o "$2"; }
grown "row_wise, table_row_wise" over
law "the day on which the kept plan no longer fits is an answer of its own" '.out_of_memory_day == 8 and .no_plan_day == null' over
check "and stands in the first lines" says 'when the plan of day 0 no longer\|because of memory'
law "days on which nobody can keep the plan add nothing to what others save" '.days[9].saved_s == .days[7].saved_s and .days[8].chance == null and .days[8].regret_pct == null' over
law "the best plan has to fit, and then it counts" '.days[9] | .best_fits and (.frozen_fits | not) and .best_bytes <= 17179869184' over
grown "table_row_wise, row_wise" reversed
check "the order of the planners decides nothing" cmp -s over/drift.json reversed/drift.json
grown "table_wise" full
law "a day without any plan that fits has none" '.no_plan_day == 8 and .days[8].best == null and .days[8].best_ms == null' full
check "which is said: $(cat streams/out)" says 'From day 8 on neither the plan of day 0 nor a new one'

echo "-- the cost model of a policy is watched"
"$shardsim" workload sample tasks metasyn_856 --tasks 1 --gpus 8 --min-tables 20 --max-tables 20 --min-dim 16 --max-dim 32 --dtype fp16 \
  --memory "7 GiB" -o task.yaml >/dev/null
cp "$source/scenarios/policies/autoshard_tasks.h5" .
watched() {  # watched CHANGES THRESHOLD OUT
  { cat task.yaml; echo "drift: {days: 4, $1, monitor: {policy: autoshard_tasks.h5, threshold: $2}}"; } >watched.yaml
  run drift watched.yaml -q -o "$3"
}
watched "batch: 30 %/day" "20 %" batch
check "it runs: $(cat streams/err)" [ "$code" -eq 0 ]
law "a batch that the policy never saw moves its costs away day by day" '[.days[].cost_error_pct] as $e | $e[4] > $e[1] and $e[1] > $e[0]' batch
law "the day is the first above the threshold" '.train_again_day == ([.days[] | select(.cost_error_pct > 20) | .day] | first) and .train_again_day > 0' batch
check "and the answer says it: $(cat streams/out)" says "Train the policy again on day $(jq .train_again_day batch/drift.json):"
watched "rotation: 10 %/day" "50 %" still
law "rotation changes no table that a policy knows" '[.days[].cost_error_pct] | max == min' still
law "below the threshold there is no day" '.train_again_day == null' still
check "which is said: $(cat streams/out)" says 'The policy need not be trained again'
mkdir deep && mv watched.yaml autoshard_tasks.h5 deep
run drift deep/watched.yaml -q -o elsewhere
check "a policy is relative to the scenario that names it: $(cat streams/err)" cmp -s still/drift.json <(sed 's|deep/watched.yaml|watched.yaml|' elsewhere/drift.json)
mv deep/autoshard_tasks.h5 .
watched "growth: 100 %/day" "50 %" outgrown
check "tables that outgrow the GPUs have costs all the same: $(cat streams/err)" [ "$code" -eq 0 ]
law "of every day" '[.days[].cost_error_pct] | length == 5 and all(. > 0)' outgrown
law "though nothing fits any more" '.days[-1].best_fits | not' outgrown
{ cat task.yaml; echo "drift: {days: 2, batch: 1 %/day, monitor: {policy: autoshard_tasks.h5, threshold: 90 %}}"; } >aging.yaml
run drift aging.yaml --set 'planner={name: autoshard, policy: autoshard_tasks.h5}' -q -o aging
check "a policy makes no plan for a batch that it was not trained on, and drift goes on: $(cat streams/err)" [ "$code" -eq 0 ]
law "with the plan that is kept" '[.days[].best_fits] | all' aging
watched "rotation: 10 %/day" "0.01 %" first
check "a model that is off on day 0 is to be trained at once" says 'Train the policy at once'
law "without a monitor nothing of it stands in the file" 'has("train_again_day") | not' a
watched "rotation: 10 %/day" "200 %" none
refuse 2 '^error: watched.yaml:[0-9]+:[0-9]+: drift.monitor.threshold: .*from 0 to 1' drift watched.yaml -o none
sed '/^drift: /s/threshold: [^}]*/treshold: 1/' watched.yaml >bad.yaml
refuse 2 'treshold.*threshold' run bad.yaml -o none
sed '/^drift: /s/autoshard_tasks.h5/no.h5/; s/200 %/20 %/' watched.yaml >bad.yaml
refuse 2 'no.h5' drift bad.yaml -o none
sed '/^drift: /s/200 %/20 %/; s/batch_per_gpu: [0-9]*/batch_per_gpu: 64/' watched.yaml >bad.yaml
refuse 2 '^error: bad.yaml:[0-9]+:[0-9]+: .*the policy was trained on lookups of 65536 samples' drift bad.yaml -o none
"$shardsim" workload sample tasks metasyn_856 --tasks 2 --gpus 8 --min-tables 9 --max-tables 9 --min-dim 16 --max-dim 32 --dtype fp16 \
  --memory "7 GiB" -o tasks.yaml >/dev/null
run autoshard train tasks.yaml --updates 1 --without cost_model -o blind.h5
check "a policy is trained without a cost model: $(cat streams/err)" [ "$code" -eq 0 ]
sed '/^drift: /s/autoshard_tasks.h5/blind.h5/; s/200 %/20 %/' watched.yaml >bad.yaml
refuse 2 'trained without a cost model' drift bad.yaml -o none
refuse 2 'is a sequence' drift s.yaml --set drift.monitor="{policy: autoshard_tasks.h5, threshold: 0.1}" -o none

refuse 2 "rotation is \"200\".*share per day" drift s.yaml --set drift.rotation=200 -o none
refuse 2 'unknown key "rotaton".*rotation' drift s.yaml --set drift.rotaton=1 -o none
refuse 2 'states no change' drift s.yaml --set drift='{days: 3}' -o none
refuse 2 'states no change' run s.yaml --set drift='{days: 3}' -o none
refuse 2 "no 'drift'" drift "$source/scenarios/toy.yaml" --case row_wise -o none
refuse 2 "drift.exponent: .1e300. is above 10.*from -10 to 10" drift s.yaml --set drift='{days: 3, exponent: 1e300}' -o none
refuse 2 "table 'bag' has no exponent" drift s.yaml --set drift='{days: 3, exponent: 1, tables: bag}' -o none
printf 'schema: shardsim.scenario/1\ninclude: [s.yaml]\ndrift: {days: 2, rotation: 0.1, tables: history}\n' >included.yaml
run drift included.yaml -o f
check "a file that only includes others may drift: $(cat streams/err)" [ "$code" -eq 0 ]
refuse 2 '^error: argument --set drift: drift.growth: on day [0-9]+ the workload is too large .*Choose fewer days' drift s.yaml --set drift='{days: 60, growth: 100 %/day, tables: history}' -o none
sed 's|^drift: .*|drift: {days: 100, batch: 100 %/day}|' s.yaml >batch.yaml
refuse 2 '^error: batch.yaml:10:[0-9]+: drift.batch: on day 21 the batch of a GPU is 1.07e.09 samples' drift batch.yaml -o none
sed 's|^drift: .*|drift: {days: 60, growth: 100 %/day}|' s.yaml >growth.yaml
refuse 2 '^error: growth.yaml:10:[0-9]+: drift.growth: on day [0-9]+ ' drift growth.yaml -o none
refuse 2 'drift.pause: "600" has no unit. Write for example "600 s"' drift s.yaml --set drift.pause=600 -o none
refuse 2 'no table fits "nobody"\. Change drift.tables\. Known: ' drift s.yaml --set drift.tables=nobody -o none
finish 25
