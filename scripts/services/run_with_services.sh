#!/usr/bin/env bash
# Runs a command with real services up, and ends what it started.
#
#   run_with_services.sh ollama -- pytest -m ollama
#
# A service that already runs at its address is used as it is and left running.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
services=()
while (($#)) && [[ $1 != -- ]]; do
  services+=("$1")
  shift
done
[[ ${1:-} == -- ]] || { echo "usage: $0 SERVICE... -- COMMAND..." >&2; exit 2; }
shift

started=()
stop_started() {
  local service
  for service in "${started[@]:+${started[@]}}"; do
    bash "$here/$service.sh" stop >&2 || true
  done
}
trap stop_started EXIT

for service in "${services[@]}"; do
  bash "$here/$service.sh" install >&2
  if bash "$here/$service.sh" status >/dev/null 2>&1; then
    continue
  fi
  started+=("$service")
  bash "$here/$service.sh" start >&2
done

"$@"
