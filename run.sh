#!/usr/bin/env bash
# Builds shardsim if needed and runs it. Without arguments: the FlexShard study. With arguments: passes them on.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$root/scripts/packages.sh" build
"$root/scripts/build.sh" release shardsim

if [ $# -gt 0 ]; then exec "$root/build/release/shardsim" "$@"; fi
cd "$root"
exec build/release/shardsim run scenarios/flexshard.yaml
