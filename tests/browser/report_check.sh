#!/bin/sh
# Draws a report in headless Chromium and looks at the page that its scripts made: every chart drawn, nothing loaded
# from outside. Exit 77 (skipped) without Chromium.
#   report_check.sh REPORT.html
#   report_check.sh SHARDSIM SCENARIO      (runs the scenario first)
set -eu

fail() { echo "report_check: $1" >&2; exit 1; }

[ $# -eq 1 ] || [ $# -eq 2 ] || fail "usage: report_check.sh REPORT.html | SHARDSIM SCENARIO"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  echo "skipped: no Chromium (install the package chromium)"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
if [ $# -eq 2 ]; then
  "$1" run "$2" -o "$work/out" -q >/dev/null
  report="$work/out/report.html"
else
  report=$(readlink -f "$1")
fi
[ -s "$report" ] || fail "no report at $report"

# Chromium refuses its sandbox to root.
sandbox=
[ "$(id -u)" -ne 0 ] || sandbox=--no-sandbox
timeout 600 "$browser" --headless $sandbox --disable-gpu --disable-background-networking --hide-scrollbars \
  --user-data-dir="$work/profile" --window-size=1366,768 --virtual-time-budget=10000 --dump-dom "file://$report" \
  >"$work/page.html" 2>"$work/log" || fail "the browser failed: $(tail -n 3 "$work/log")"

count() { grep -o -e "$1" "$work/page.html" | wc -l; }

charts=$(grep -o '<script type="application/json" data-chart=' "$report" | wc -l)
[ "$charts" -gt 0 ] || fail "the report holds no chart (was the program built with SHARDSIM_CHARTS=OFF?)"
grep -q "data-charts=\"$charts/$charts\"" "$work/page.html" || fail "not all of the $charts charts were drawn: \
$(grep -o 'data-charts="[^"]*"' "$work/page.html" || echo 'the drawing script did not finish')"
grep -q "($charts of $charts charts)</title>" "$work/page.html" || fail "the title does not say that all is drawn"
[ "$(count '<svg [^>]*class="marks"')" -eq "$charts" ] || fail "$(count '<svg [^>]*class="marks"') pictures for $charts charts"
[ "$(count 'class="mark-rect')" -gt 0 ] || fail "no bars"
[ "$(count 'class="mark-text')" -gt 0 ] || fail "no labels"
[ "$(count '<table')" -ge "$charts" ] || fail "fewer tables than charts"
! grep -q -E '<(img|link|iframe)|<script[^>]* src=' "$report" || fail "the report loads something from outside"
# Tables can be sorted and filtered, and a narrow page scrolls down alone.
[ "$(count 'class="sort"')" -gt 0 ] || fail "no table can be sorted"
sed 's|</body>|<script>addEventListener("load", function () { setTimeout(function () { var e = document.documentElement; \
e.dataset.wide = e.scrollWidth - e.clientWidth; }, 3000); });</script></body>|' "$report" >"$work/narrow.html"
timeout 600 "$browser" --headless $sandbox --disable-gpu --disable-background-networking --hide-scrollbars \
  --user-data-dir="$work/profile" --window-size=360,640 --virtual-time-budget=10000 --dump-dom "file://$work/narrow.html" \
  >"$work/narrow.page" 2>"$work/log" || fail "the browser failed: $(tail -n 3 "$work/log")"
grep -q 'data-wide="0"' "$work/narrow.page" || fail "at 360 px the page is wider than its window: \
$(grep -o 'data-wide="[^"]*"' "$work/narrow.page" || echo 'the script did not finish')"
if grep -q ' data-own="timeline"' "$report"; then
  python3 "$(dirname "$(readlink -f "$0")")/timeline_check.py" "$report" || fail "the timeline"
fi
if grep -q ' data-own="plan_matrix"' "$report"; then
  python3 "$(dirname "$(readlink -f "$0")")/matrix_check.py" "$report" || fail "the matrix of the plan"
fi
python3 "$(dirname "$(readlink -f "$0")")/speed_check.py" "$report" || fail "the first screen"
echo "$charts charts drawn, $(count '<table') tables"
