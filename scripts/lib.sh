# Sourced by the scripts beside it: sets ROOT and BUN, and installs what package.json names. With --help it prints the
# comment at the top of the script instead, and ends it.
#
# Promises the pinned Bun, from npm, without running any package's install script, and a network only when something is
# missing: a second run with the same lock file downloads nothing. Writes only below the checkout and npm's own caches.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CALLER=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)/$(basename "${BASH_SOURCE[1]}")
cd "$ROOT"

# The comment at the top of a script, or of the program in SCRIPT_MANUAL, is its manual.
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      case "${SCRIPT_MANUAL:-$CALLER}" in
        *.ts) sed -n '1d; /^ \*\//q; s/^ \* \{0,1\}//p' "$SCRIPT_MANUAL" ;;
        *) sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$CALLER" ;;
      esac
      exit 0
      ;;
  esac
done

pinned_bun() {
  sed -n 's/^ *"bun": "\([0-9.]*\)".*/\1/p' package.json | head -n 1
}

# The first of the given programs that is Bun in the pinned version.
first_pinned() {
  local candidate
  for candidate in "$@"; do
    if [ -x "$candidate" ] && [ "$("$candidate" --version 2>/dev/null)" = "$(pinned_bun)" ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# The platform package has the program, unless bun's own post-install script has run: that moves it over its stub.
bun_below() {
  first_pinned "$1"/node_modules/@oven/bun-*/bin/bun "$1"/node_modules/bun/bin/bun.exe
}

# Node and Bun bring certificate authorities of their own; the machine may trust more, a company's proxy for one.
trust_the_machine() {
  local file
  for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
    if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -r "$file" ]; then export NODE_EXTRA_CA_CERTS=$file; fi
  done
}

install_packages() {
  local stamp=node_modules/.installed-lock bootstrap='' installer registry cafile
  if [ -f "$stamp" ] && cmp -s bun.lock "$stamp" && bun_below "$ROOT" >/dev/null; then return 0; fi
  trust_the_machine
  if ! installer=$(bun_below "$ROOT" || first_pinned "$(command -v bun || true)"); then
    if ! command -v npm >/dev/null; then
      echo "Needs Bun $(pinned_bun), or node with npm to get it." >&2
      exit 1
    fi
    echo "Getting Bun $(pinned_bun) from npm ..." >&2
    bootstrap=$(mktemp -d)
    npm install --loglevel=error --no-save --ignore-scripts --no-audit --no-fund --prefix "$bootstrap" \
      "bun@$(pinned_bun)" >&2
    installer=$(bun_below "$bootstrap")
  fi
  # Bun does not read npm's global settings: a registry or certificate set there is handed over.
  local options=()
  cafile=${NODE_EXTRA_CA_CERTS:-}
  if command -v npm >/dev/null; then
    registry=$(npm config get registry 2>/dev/null || true)
    case "$registry" in http*) options+=(--registry "$registry") ;; esac
    if [ -f "$(npm config get cafile 2>/dev/null)" ]; then cafile=$(npm config get cafile); fi
  fi
  if [ -n "$cafile" ]; then options+=(--cafile "$cafile"); fi
  echo "Installing packages ..." >&2
  "$installer" install --frozen-lockfile --ignore-scripts "${options[@]}" >&2
  cp bun.lock "$stamp"
  if [ -n "$bootstrap" ]; then rm -rf "$bootstrap"; fi
}

install_packages
BUN=$(bun_below "$ROOT") || {
  echo "Bun $(pinned_bun) does not run on this machine." >&2
  exit 1
}
export BUN ROOT
