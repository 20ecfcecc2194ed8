#!/usr/bin/env bash
# Runs the example against a server: some workers, the coordinator, and one table on standard output.
#
#   ./run_example.sh [--server ADDRESS] [--workers N] [--kill-one] [--check] FOLDER...
#
# --kill-one  kills one worker with SIGKILL while it works; its files are analysed by the others, once
#             its leases have ended. Fails where nobody had to take over.
# --check     compares the table with one computed from the files directly.
#
# PYTHON names the interpreter that has the packages of requirements.txt. The table is the same bytes
# in every run over the same files.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs="$here/../../target/python-example"
python=${PYTHON:-python3}
server=127.0.0.1:7420 workers=3 kill_one=false check=()
folders=()

while (($#)); do
    case $1 in
        --server) server=$2; shift 2 ;;
        --workers) workers=$2; shift 2 ;;
        --kill-one) kill_one=true; shift ;;
        --check) check=(--check); shift ;;
        -*) echo "unknown option \`$1\`" >&2; exit 2 ;;
        *) folders+=("$1"); shift ;;
    esac
done
if ((${#folders[@]} == 0)); then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi

mkdir -p "$logs"
rm -f "$logs"/*.log
started=()
cleanup() {
    local pid
    for pid in "${started[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    wait
}
trap cleanup EXIT

# start NAME ARGUMENTS...: one worker in the background.
start() {
    "$python" "$here/worker.py" "$1" --server "$server" "${@:2}" 2>"$logs/$1.log" &
    started+=($!)
}

# await PID FILE TEXT: until the text is in the file; fails when the process ends or a minute passes.
await() {
    local tries=600
    until grep -qs -- "$3" "$2"; do
        kill -0 "$1" 2>/dev/null || { echo "ended early:" >&2; cat "$2" >&2; return 1; }
        ((tries-- > 0)) || { echo "no \`$3\` in a minute" >&2; return 1; }
        sleep 0.1
    done
}

# The one to be killed works slowly, and alone until it has something in hand.
if $kill_one; then
    start victim --pace 120
    victim=${started[0]}
fi

"$python" "$here/coordinator.py" --server "$server" "${check[@]}" "${folders[@]}" \
    >"$logs/table.txt" 2> >(tee "$logs/coordinator.log" >&2) &
coordinator=$!
started+=("$coordinator")

if $kill_one; then
    await "$victim" "$logs/victim.log" analysing
fi
for ((n = 1; n <= workers; n++)); do start "worker-$n"; done
if $kill_one; then
    # Waited for at once, so that the shell does not announce the death.
    { kill -KILL "$victim"; wait "$victim"; } 2>/dev/null || true
    echo "killed a worker in the middle of $(grep -c analysing "$logs/victim.log") files" >&2
fi

wait "$coordinator" || { status=$?; tail -n 5 "$logs"/*.log >&2; exit "$status"; }
cat "$logs/table.txt"
if $kill_one && ! grep -qs 'taking over' "$logs"/worker-*.log; then
    echo "the killed worker had no turn in hand" >&2
    exit 1
fi
