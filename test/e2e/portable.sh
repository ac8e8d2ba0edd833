#!/usr/bin/env bash
# Copies the self-extracting file into an empty folder and lets it serve a chat
# in a network namespace of its own, where neither deno nor node is on PATH.
# Needs root. Usage: portable.sh FILE
set -euo pipefail
file=$(readlink -f "$1")
tiny=$(readlink -f "$(dirname "$0")/../../scripts/fixtures/covey_tiny.ts")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/bin" "$room/models" "$room/home"
cp "$file" "$room/covey"
npx -y deno@2.9.6 run --quiet -A "$tiny" "$room/models" >/dev/null
# Only what a bare Debian has: the shell's own tools, and nothing that runs JavaScript.
for tool in sh tail gzip tar mkdir mv rm cat env uname bash curl kill sleep ip; do
  ln -s "$(command -v "$tool")" "$room/bin/$tool"
done
if PATH="$room/bin" bash -c 'command -v deno || command -v node'; then
  echo "The folder for PATH still offers deno or node" >&2
  exit 1
fi
unshare --net env -i PATH="$room/bin" HOME="$room/home" bash -euc '
  ip link set lo up
  room=$1
  COVEY_DATA_DIR=$room/data COVEY_MODELS_DIR=$room/models COVEY_ENGINE_THREADS=1 \
    COVEY_PORT=11411 "$room/covey" serve >"$room/out" 2>"$room/err" &
  pid=$!
  stop() {
    code=$?
    kill $pid 2>/dev/null || true
    wait $pid || true
    [ $code = 0 ] || cat "$room/err" >&2
  }
  trap stop EXIT
  for ((n = 0; n < 600; n++)); do
    curl -sf http://127.0.0.1:11411/readyz >/dev/null 2>&1 && break
    kill -0 $pid
    sleep 0.1
  done
  answer=$(curl -sS --max-time 60 http://127.0.0.1:11411/v1/chat/completions \
    -H "content-type: application/json" \
    -d "{\"model\":\"covey-tiny\",\"max_tokens\":16,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}")
  echo "$answer"
  case $answer in *\"completion_tokens\":*) ;; *) exit 1 ;; esac
' covey-portable "$room"
echo "The portable file served a chat."
