#!/usr/bin/env bash
# The programs that tests drive besides the servers: Chromium for the app, LibreOffice for doc and ppt.
# Installs what is missing from Debian's packages; where that cannot be done, says what to install.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
# Only the parts that convert, without a screen: 60 packages, 300 MB.
command -v soffice >/dev/null || missing+=(libreoffice-writer-nogui libreoffice-impress-nogui)
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "tools: the tests need ${missing[*]}; install them (Debian: sudo apt-get install ${missing[*]})" >&2
  exit 1
fi
apt-get update -qq
for package in "${missing[@]}"; do
  extra=--no-install-recommends
  [ "$package" = chromium ] && extra=--install-recommends  # with its fonts
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$extra" "$package" >/dev/null
done
