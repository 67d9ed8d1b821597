# Shared by the steps of check.sh and measure.sh. From run_on_gpu.sh: BUILT, PROGRAMS, WORK, OUT, SMALL, REQUIRE, HERE and
# SECONDS_LEFT, after which the step is stopped.
note() { echo "= $1"; }                       # to the summary
leave_out() { echo "$1"; exit 77; }           # this step
stop() { echo "$1"; exit 1; }

# Leaves the step out, or fails where it was required. Usage: missing NAME WHY
missing() {
  case ",$REQUIRE," in *",$1,"*) stop "$1 was required: $2" ;; esac
  leave_out "$2"
}

last_line() { tail -n 1 "$1" | cut -c 1-200; }

# The number of a line of a log: figure PATTERN FILE, the pattern with one group.
figure() { sed -n "s/$1/\\1/p" "$2" | head -n 1; }

no_room='GPU memory'  # in the message of a program that does not fit the GPU
