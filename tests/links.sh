#!/usr/bin/env bash
# Every relative link in a *.md file leads to a file that is there, and every #anchor to a heading of that file. Every document under
# docs/ that code, messages or READMEs name exists. Headings have a space after their #, and every README begins with one:
# a formatter of C++ that is let loose on Markdown takes both away.
# Usage: links.sh SOURCE_DIR
set -euo pipefail
cd "$1"
status=0

documents() { find . -name '*.md' -not -path './build*' -not -path './out/*' -not -path './.git/*' | sort; }

# "FILE HEADING-ANCHOR" for every heading, as GitHub forms anchors; a heading that repeats gets -1, -2 ...
anchors() {
  documents | xargs awk '
    FNR == 1 { code = 0; delete seen }
    /^ *```/ { code = !code }
    !code && /^#+ / {
      text = tolower($0); sub(/^#+ +/, "", text); gsub(/[^a-z0-9_ -]/, "", text); gsub(/ /, "-", text)
      print FILENAME " " text (seen[text] ? "-" seen[text] : ""); seen[text]++
    }'
}

# "FILE LINE TARGET PATH" for every link outside code that leads to a file; PATH is that file, from here.
links() {
  documents | xargs awk '
    FNR == 1 { code = 0; folder = FILENAME; sub(/\/[^\/]*$/, "", folder) }
    /^ *```/ { code = !code }
    !code {
      rest = $0
      while (match(rest, /\]\([^) ]+\)/)) {
        target = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        if (target ~ /^(https?:\/\/|mailto:)/) continue
        path = target; sub(/#.*/, "", path)
        print FILENAME " " FNR " " target " " (path == "" ? FILENAME : folder "/" path)
      }
    }'
}

# The paths of standard input without links and dots. One process has them all: one for each was most of this test's time.
full_paths() { xargs -d '\n' realpath -m --; }

declare -A known
while read -r heading; do known["$heading"]=1; done < <(paste -d '#' <(anchors | cut -d ' ' -f 1 | full_paths) <(anchors | cut -d ' ' -f 2))

checked=0
while read -r file line target full; do
  checked=$((checked + 1))
  if [ ! -e "$full" ]; then
    echo "$file:$line: the link $target leads to no file" && status=1
  elif [[ $target == *#* && -z ${known["$full#${target#*#}"]:-} ]]; then
    path=${target%%#*}
    echo "$file:$line: the link $target names a heading that ${path:-$file} does not have" && status=1
  fi
done < <(paste -d ' ' <(links | cut -d ' ' -f 1-3) <(links | cut -d ' ' -f 4 | full_paths))
[ "$checked" -ge 100 ] || { echo "only $checked links were found"; status=1; }

while IFS=: read -r file line name; do
  [ -e "$name" ] || { echo "$file:$line: names $name, which does not exist"; status=1; }
done < <(grep -rnoE '\bdocs/[A-Za-z0-9_/]+\.md' --include='*.h' --include='*.cpp' --include='*.cu' --include='*.md' --include='*.yaml' \
  --include='*.sh' --include='*.py' --include='*.txt' --include='*.cmake' --exclude-dir='build*' --exclude-dir=out --exclude-dir=.git . )

while IFS=: read -r file line text; do
  echo "$file:$line: '$text' is no heading: there is no space after its #" && status=1
done < <(documents | xargs grep -nE '^#+[A-Za-z]')
# Lines that a wrapping editor joined: two rows of a table in one line, two commands in one line of code.
while IFS=: read -r file line text; do
  echo "$file:$line: two rows of a table in one line: $text" && status=1
done < <(documents | xargs grep -nE '\| \|[ :-]*-')
while IFS=: read -r file line text; do
  echo "$file:$line: two commands in one line of code, without anything between them: $text" && status=1
done < <(documents | xargs grep -nE '^ {4,}(\./|shardsim )[^|;&]*[^|;&/-] shardsim [a-z]')
while read -r file; do
  IFS= read -r first <"$file" || true
  [[ $first =~ ^#\ . ]] || { echo "$file:1: does not begin with a heading"; status=1; }
done < <(documents)
exit "$status"
