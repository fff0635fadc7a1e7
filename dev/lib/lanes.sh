# shellcheck shell=bash
# Steps of a long check: run one by one, or by two lanes that take them from one list. The script sets LOGS,
# a folder of its own.

# The headings of the steps that ended so, whichever lane ran them.
readonly PASSED=$LOGS/passed FAILED=$LOGS/failed
# Seconds that a step may take, far more than is usual, so that a hang is told before CI's hour is over.
limit=1500
# Steps that wait for a lane: headings, commands whose words have no blanks, and limits.
headings=() commands=() limits=()

begin_steps() {
  mkdir -p "$LOGS"
  truncate -s 0 "$PASSED" "$FAILED"
}

# add <heading> <command...>: has a lane run it, with the limit that is set now.
add() {
  headings+=("$1")
  limits+=("$limit")
  shift
  commands+=("$*")
}

# Two processes take the steps in their order, until there are none left.
run_lanes() {
  local lanes=() lane
  echo 0 >"$LOGS/next"
  # In process groups of their own, so that all of them end with this script.
  set -m
  for lane in first second; do
    work &
    lanes+=("-$!")
  done
  set +m
  trap 'kill -- "${lanes[@]}" 2>/dev/null || true' EXIT
  for lane in "${lanes[@]#-}"; do
    wait "$lane" || echo "steps that did not come to their end" >>"$FAILED"
  done
  trap - EXIT
}

work() {
  local number command
  while number=$(take) && ((number < ${#commands[@]})); do
    read -ra command <<<"${commands[number]}"
    limit=${limits[number]} step "${headings[number]}" "${command[@]}"
  done
}

# Prints the number of the next step.
take() {
  local number
  flock 9
  number=$(<"$LOGS/next")
  echo $((number + 1)) >"$LOGS/next"
  echo "$number"
} 9>"$LOGS/next.lock"

# step <heading> <command...>: runs it, counts how it ended, and then prints what it printed, in one piece.
step() {
  local heading="$1" start=$SECONDS status watchdog self=$BASHPID output
  shift
  output="$LOGS/${heading//[^A-Za-z0-9]/-}.out"
  : >"$output"
  begun "$heading"
  dev/lib/watchdog.py "$self" "$limit" "$LOGS" >>"$output" 2>&1 &
  watchdog=$!
  # A command whose status is asked for with || or if runs without -e, all the way down. So the
  # status is taken from a subshell that has -e while this one does not.
  set +e
  (
    set -e
    "$@"
  ) >>"$output" 2>&1
  status=$?
  kill "$watchdog"
  wait "$watchdog" 2>/dev/null
  set -e
  ended "$heading" "$status" "in $((SECONDS - start)) s" "$output"
}

# begun <heading>: tells it, between what ended steps have printed.
begun() {
  flock 9
  printf '.. begun: %s\n' "$1"
} 9>"$LOGS/print.lock"

# ended <heading> <status> <when> <output>: counts and tells it.
ended() {
  flock 9
  printf '\n== %s\n' "$1"
  cat "$4"
  if (($2 == 0)); then
    echo "$1" >>"$PASSED"
    printf -- '-- passed %s\n' "$3"
  else
    echo "$1" >>"$FAILED"
    printf -- '-- FAILED with status %s %s: %s\n' "$2" "$3" "$1"
  fi
} 9>"$LOGS/print.lock"
