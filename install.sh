#!/bin/sh
# Installs or upgrades Postrider on a systemd machine, from a release folder or a checkout.
#
#   sudo ./install.sh --hostname mail.example.com    first time
#   sudo ./install.sh                                again: upgrade, with a backup before and a roll-back on failure
#   ./install.sh --root DIR --hostname H             stages everything below DIR, without systemd and without a user
#   sudo ./install.sh --uninstall                    removes program and unit, keeps config and data
#
# Fetches nothing from anywhere. In a release folder it takes postrider-linux-x64, postrider-linux-x64-baseline or
# postrider-linux-arm64, whichever fits this CPU, and checks it against SHA256SUMS; in a checkout dist/postrider.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=''
hostname=''
action=install
user=postrider
wait_seconds=60

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '            %s\n' "$2" >&2
  exit 1
}
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }

while [ $# -gt 0 ]; do
  case $1 in
    --root) root=${2:?--root wants a folder}; shift 2 ;;
    --hostname) hostname=${2:?--hostname wants a name}; shift 2 ;;
    --uninstall) action=uninstall; shift ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
  esac
done

if [ -n "$root" ]; then
  mkdir -p "$root"
  root=$(CDPATH='' cd -- "$root" && pwd)
fi
is_staged() { [ -n "$root" ]; }

binary=$root/usr/local/bin/postrider
previous=$root/usr/local/lib/postrider/previous
config=$root/etc/postrider/postrider.toml
data=$root/var/lib/postrider
unit=$root/etc/systemd/system/postrider.service
docs=$root/usr/local/share/doc/postrider

if ! is_staged; then
  [ "$(id -u)" = 0 ] || fail 'run me as root' 'sudo ./install.sh …, or stage into a folder with --root DIR'
  [ -d /run/systemd/system ] || fail 'systemd does not run here' 'stage with --root DIR and start postrider serve by your own means'
fi

if [ "$action" = uninstall ]; then
  if ! is_staged && [ -e "$unit" ]; then systemctl disable --now postrider.service || true; fi
  rm -rf "$binary" "$root/usr/local/lib/postrider" "$unit" "$docs"
  is_staged || systemctl daemon-reload
  say "Removed the program and its unit. Kept: $config and $data."
  exit 0
fi

# --- the program for this machine ---------------------------------------------------------------------------------

find_binary() {
  case $(uname -m) in
    x86_64 | amd64)
      # Without AVX2 the plain build dies with an illegal instruction; the baseline build needs SSE4.2 only.
      if grep -q -w avx2 /proc/cpuinfo; then set -- postrider-linux-x64 postrider-linux-x64-baseline
      else set -- postrider-linux-x64-baseline; fi ;;
    aarch64 | arm64) set -- postrider-linux-arm64 ;;
    *) fail "there is no build for $(uname -m)" 'x86-64 and arm64 are supported' ;;
  esac
  for name in "$@"; do
    if [ -f "$here/$name" ]; then printf '%s' "$here/$name"; return; fi
  done
  if [ -f "$here/dist/postrider" ]; then printf '%s' "$here/dist/postrider"; return; fi
  fail "none of $* lies beside me, nor dist/postrider" 'in a checkout run scripts/build first'
}
source=$(find_binary) || exit 1

if [ -f "$here/SHA256SUMS" ]; then
  wanted=$(awk -v name="$(basename "$source")" '$2 == name || $2 == "*" name { print $1 }' "$here/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS has no line for $(basename "$source")"
  actual=$(sha256sum "$source" | cut -d ' ' -f 1)
  [ "$wanted" = "$actual" ] || fail "the checksum of $(basename "$source") is wrong" 'copy the release folder again'
fi
version_of() { "$1" version --json 2>/dev/null | sed -n 's/.*"version": *"\([^"]*\)".*/\1/p'; }
new_version=$(version_of "$source")
[ -n "$new_version" ] || fail "$source does not run on this machine" "try: $source version"

# --- helpers around the running service -----------------------------------------------------------------------------

as_service() {
  if is_staged; then "$@"; else runuser -u "$user" -- "$@"; fi
}
staged_pid=''
start() {
  if is_staged; then
    "$binary" serve --config "$config" >"$root/var/log/postrider.log" 2>&1 &
    staged_pid=$!
  else
    # How it went is asked afterwards (is_healthy): a start that fails must lead to the roll-back, not end this script.
    # Starts that failed before, and are counted, are not held against this one.
    systemctl reset-failed postrider.service 2>/dev/null || true
    systemctl start postrider.service || true
  fi
}
stop() {
  if is_staged; then
    if [ -n "$staged_pid" ]; then
      kill -TERM "$staged_pid" 2>/dev/null || true
      wait "$staged_pid" 2>/dev/null || true
      staged_pid=''
    fi
  else
    systemctl stop postrider.service
  fi
}
is_running() {
  if is_staged; then [ -n "$staged_pid" ] && kill -0 "$staged_pid" 2>/dev/null; else systemctl is-active --quiet postrider.service; fi
}
# Healthy: the service stands and answers on its control socket, which it opens when everything listens.
is_healthy() {
  tries=0
  while [ "$tries" -lt "$wait_seconds" ]; do
    is_running || return 1
    if [ -S "$data/control.sock" ] && as_service "$binary" account list --config "$config" --json >/dev/null 2>&1; then return 0; fi
    tries=$((tries + 1))
    sleep 1
  done
  return 1
}
place_files() {
  mkdir -p "$docs" "$(dirname "$unit")"
  # First, and its failure told: errors after it do no harm where this is asked how it went.
  install -m 0644 "$here/packaging/postrider.service" "$unit" || return 1
  for file in README.md CHANGELOG.md LICENSE; do
    if [ -f "$here/$file" ]; then install -m 0644 "$here/$file" "$docs/$file"; fi
  done
  if [ -d "$here/packaging" ]; then
    for file in "$here"/packaging/*.json "$here"/packaging/*.yml; do
      if [ -f "$file" ]; then install -m 0644 "$file" "$docs/$(basename "$file")"; fi
    done
  fi
  is_staged || systemctl daemon-reload
}
place_binary() {
  mkdir -p "$(dirname "$binary")"
  # A new file and a rename: a running program's file can not be written over.
  install -m 0755 "$1" "$binary.new"
  mv -f "$binary.new" "$binary"
}

mkdir -p "$root/var/log"

# --- upgrade --------------------------------------------------------------------------------------------------------

if [ -x "$binary" ] && [ -f "$config" ]; then
  old_version=$(version_of "$binary")
  say "Upgrading Postrider ${old_version:-of unknown version} to $new_version."
  "$source" check --config "$config" >/dev/null || fail 'the new version does not accept the config' 'mend it as said above; nothing was changed'
  mkdir -p "$previous" "$data/backups"
  is_staged || chown "$user:$user" "$data/backups"
  chmod 0700 "$data/backups"
  backup=$data/backups/before-$new_version-$(date -u +%Y%m%dT%H%M%SZ).backup
  say "Backup to $backup"
  as_service "$binary" backup "$backup" --config "$config" >/dev/null || fail 'the backup failed' 'nothing was changed'
  # What may lack room is written while the service still runs.
  if ! cp -p "$binary" "$previous/postrider" || ! install -m 0755 "$source" "$binary.new"; then
    rm -f "$binary.new"
    fail 'the new program can not be written' 'the service goes on as it was; see that the disk has room'
  fi
  if [ -f "$unit" ]; then cp -p "$unit" "$previous/postrider.service"; fi
  may_run=no
  if ! is_staged; then
    # One that failed, or is being started again and again, is to run; one that was stopped is not.
    case $(systemctl is-active postrider.service || true) in
      inactive | unknown | '') ;;
      *) may_run=yes; stop ;;
    esac
  fi
  mv -f "$binary.new" "$binary"
  # From here on whatever fails leads to the roll-back.
  if place_files && start && is_healthy; then
    if [ "$may_run" = no ]; then
      stop
      is_staged || say 'Stopped again, as it was before: systemctl start postrider'
    fi
    say "Postrider $new_version is in place. The old program is kept in $previous, the backup in $data/backups."
    exit 0
  fi
  say "Postrider $new_version did not come up; rolling back." >&2
  stop || true
  place_binary "$previous/postrider"
  if [ -f "$previous/postrider.service" ]; then install -m 0644 "$previous/postrider.service" "$unit"; fi
  is_staged || systemctl daemon-reload
  # Data too: the new version may have migrated it. What the new version accepted meanwhile is in the set-aside copy.
  as_service "$binary" restore "$backup" --config "$config" >/dev/null || fail 'the roll-back of the data failed' "restore it by hand: postrider restore $backup"
  start
  is_healthy || fail 'the old version does not come up either' 'look at: journalctl -u postrider'
  if [ "$may_run" = no ]; then stop; fi
  fail "rolled back to ${old_version:-the old version}; data as before" 'look at: journalctl -u postrider'
fi

# --- first installation ---------------------------------------------------------------------------------------------

[ -n "$hostname" ] || fail 'which name does this machine have in mail?' './install.sh --hostname mail.example.com'
if ! is_staged && ! id -u "$user" >/dev/null 2>&1; then
  useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin "$user"
fi
mkdir -p "$(dirname "$config")"
place_binary "$source"
place_files
if [ -f "$config" ]; then
  say "Keeping $config and $data."
else
  # Prints the dashboard password and the first key, once.
  "$binary" init --hostname "$hostname" --config "$config" --data-dir "$data"
fi
if ! is_staged; then
  chown root:"$user" "$(dirname "$config")" "$config"
  chmod 0750 "$(dirname "$config")"
  chmod 0640 "$config"
  chown -R "$user:$user" "$data"
  chmod 0700 "$data"
  systemctl enable --quiet postrider.service
  start
  is_healthy || fail 'Postrider does not come up' 'look at: journalctl -u postrider'
fi

name=${hostname:-$(sed -n 's/^hostname *= *"\(.*\)".*/\1/p' "$config")}
say "
Postrider $new_version is installed${root:+ below $root}. Next:
  1. DNS of this machine: an A record (and AAAA) for $name, reverse DNS of that address back to
     $name, and a TXT record at $name: \"v=spf1 ip4:<address> -all\"
  2. postrider doctor                          looks whether all that, port 25 and the rest are right
  3. postrider domain add <your domain> --account default     shows the records to publish for your first domain"
