#!/bin/sh
# Installs or upgrades Postrider on a systemd machine, from a release folder or a checkout.
#
#   sudo ./install.sh --hostname mail.example.com    first time; with --acme EMAIL at https://mail.example.com at once,
#                                                    and you accept the terms of service of Let's Encrypt
#   sudo ./install.sh                                again: upgrades; backs up first, rolls back on failure
#   ./install.sh --root DIR --hostname H             stages everything below DIR, without systemd and without a user
#   sudo ./install.sh --uninstall                    removes the program and its unit, keeps config and data
#
# What the service's user could replace is changed as that user, never as root. Downloads nothing. In a release folder
# it takes postrider-linux-x64, postrider-linux-x64-baseline or postrider-linux-arm64, whichever this CPU runs, and
# checks it against SHA256SUMS; in a checkout dist/postrider.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=''
hostname=''
acme=''
action=install
user=postrider
wait_seconds=60

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '            %s\n' "$2" >&2
  exit 1
}
usage() { sed -n '2,12s/^# \{0,1\}//p' "$0"; }

while [ $# -gt 0 ]; do
  case $1 in
    --root) root=${2:?--root needs a folder}; shift 2 ;;
    --hostname) hostname=${2:?--hostname needs a name}; shift 2 ;;
    --acme) acme=${2:?--acme needs a mail address}; shift 2 ;;
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
# Whatever folder this was started in, the service's user may own it.
cd /

binary=$root/usr/local/bin/postrider
previous=$root/usr/local/lib/postrider/previous
config=$root/etc/postrider/postrider.toml
data=$root/var/lib/postrider
unit=$root/etc/systemd/system/postrider.service
docs=$root/usr/local/share/doc/postrider
manual=$root/usr/local/share/man/man1/postrider.1

if ! is_staged; then
  [ "$(id -u)" = 0 ] || fail 'needs root' 'Run sudo ./install.sh …, or stage into a folder with --root DIR.'
  [ -d /run/systemd/system ] || fail 'systemd does not run on this machine' 'Stage with --root DIR and start "postrider serve" with your own service manager.'
fi

if [ "$action" = uninstall ]; then
  if ! is_staged && [ -e "$unit" ]; then systemctl disable --now postrider.service || true; fi
  rm -rf "$binary" "$root/usr/local/lib/postrider" "$unit" "$docs" "$manual"
  is_staged || systemctl daemon-reload
  say "Removed the program and its unit. Kept: $config and $data."
  exit 0
fi

# --- the program for this machine ---------------------------------------------------------------------------------

find_binary() {
  case $(uname -m) in
    x86_64 | amd64)
      # Without AVX2 the standard build ends with an illegal instruction; the baseline build needs SSE4.2 only.
      if grep -q -w avx2 /proc/cpuinfo; then set -- postrider-linux-x64 postrider-linux-x64-baseline
      else set -- postrider-linux-x64-baseline; fi ;;
    aarch64 | arm64) set -- postrider-linux-arm64 ;;
    *) fail "there is no build for $(uname -m)" 'x86-64 and arm64 are supported.' ;;
  esac
  for name in "$@"; do
    if [ -f "$here/$name" ]; then printf '%s' "$here/$name"; return; fi
  done
  if [ -f "$here/dist/postrider" ]; then printf '%s' "$here/dist/postrider"; return; fi
  fail "found neither $* nor dist/postrider beside install.sh" 'In a checkout run scripts/build first.'
}
source=$(find_binary) || exit 1

if [ -f "$here/SHA256SUMS" ]; then
  wanted=$(awk -v name="$(basename "$source")" '$2 == name || $2 == "*" name { print $1 }' "$here/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS has no line for $(basename "$source")"
  actual=$(sha256sum "$source" | cut -d ' ' -f 1)
  [ "$wanted" = "$actual" ] || fail "the checksum of $(basename "$source") is wrong" 'Copy the release folder again.'
fi
version_of() { "$1" version --json 2>/dev/null | sed -n 's/.*"version": *"\([^"]*\)".*/\1/p'; }
new_version=$(version_of "$source")
[ -n "$new_version" ] || fail "$source does not run on this machine" "Try: $source version"

# --- what the service's user can reach -------------------------------------------------------------------------------

# As the service's user, without root's environment and in a session of its own: no process of that user can type into
# the terminal that this runs in.
as_service() {
  if is_staged; then "$@"; else setsid --wait env -i PATH="$PATH" runuser -u "$user" -- "$@" </dev/null; fi
}
# Root writes below these: who may write to one of them or above it, or owns it, could put a link there.
refuse_reachable() {
  [ "$(id -u "$user")" != 0 ] || fail "the user $user is root" "Give $user a user id of its own."
  set -- "$(dirname "$data")" "$(dirname "$binary")" "$previous" "$unit" "$docs/docs" "$manual" "$(dirname "$config")"
  for path in "$@"; do set -- "$@" "$(readlink -m -- "$path")"; done
  # shellcheck disable=SC2016
  found=$(as_service sh -c '
    for path; do
      while :; do
        if [ -w "$path" ] || [ -O "$path" ]; then printf "%s\n" "$path"; exit; fi
        [ "$path" != / ] || break
        path=$(dirname -- "$path")
      done
    done' sh "$@") || fail "cannot run programs as the user $user"
  [ -z "$found" ] || fail "the user $user can change $found" "Nothing was changed. Make it root's: chown root $found && chmod go-w $found"
}
refuse_foreign_data() {
  [ ! -L "$data" ] || fail "$data is a link" 'Nothing was changed. Mount the other directory there instead.'
  [ -e "$data" ] || return 0
  [ -d "$data" ] || fail "$data is not a directory" 'Nothing was changed. Move it away.'
  is_staged && return 0
  case $(stat -c %u "$data") in
    0 | "$(id -u "$user")") ;;
    *) fail "$data belongs neither to root nor to $user" "Nothing was changed. Give it back: chown $user $data" ;;
  esac
}
is_roots_data() { [ -d "$data" ] && [ "$(stat -c %u "$data")" = 0 ]; }
# A directory that init has made as root. Nobody else can enter it until its last step, and -h follows no link; an entry
# with a second name elsewhere keeps its owner.
hand_over_data() {
  is_roots_data || return 0
  chmod 0700 "$data"
  [ -z "$(find "$data" -xdev ! -user root -print -quit)" ] || fail "$data is root's and holds files of others" "Look at them, then: chown -R root $data"
  find "$data" -xdev -depth \( -type d -o -links 1 \) -exec chown -h "$user:$user" {} +
}

# --- the running service --------------------------------------------------------------------------------------------

staged_pid=''
start() {
  if is_staged; then
    "$binary" serve --config "$config" >"$root/var/log/postrider.log" 2>&1 &
    staged_pid=$!
  else
    # is_healthy looks at the result: a start that fails must lead to the roll-back, not end this script. Earlier
    # failed starts must not count against this one.
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
main_pid() {
  if is_staged; then printf '%s' "$staged_pid"; else systemctl show --property=MainPID --value postrider.service; fi
}
# The process that responds on the control socket; nothing when none does.
server_pid() {
  as_service timeout 10 "$1" version --server --json --config "$config" 2>/dev/null | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p'
}
# Healthy: the process that was started here, and no other, responds on the control socket, which it opens once
# everything listens.
is_healthy() {
  tries=0
  while [ "$tries" -lt "$wait_seconds" ]; do
    is_running || return 1
    answered=$(server_pid "$binary")
    if [ -n "$answered" ] && [ "$answered" = "$(main_pid)" ]; then return 0; fi
    tries=$((tries + 1))
    sleep 1
  done
  return 1
}
install_files() {
  mkdir -p "$docs" "$(dirname "$unit")"
  # The unit comes first and its failure counts; a document that is missing does no harm.
  install -m 0644 "$here/packaging/postrider.service" "$unit" || return 1
  for file in README.md CHANGELOG.md LICENSE; do
    if [ -f "$here/$file" ]; then install -m 0644 "$here/$file" "$docs/$file"; fi
  done
  if [ -f "$here/packaging/postrider.1" ]; then install -D -m 0644 "$here/packaging/postrider.1" "$manual"; fi
  # The README links to these.
  for file in "$here"/docs/*.md; do
    if [ -f "$file" ]; then install -D -m 0644 "$file" "$docs/docs/$(basename "$file")"; fi
  done
  if [ -d "$here/packaging" ]; then
    for file in "$here"/packaging/*.json "$here"/packaging/*.yml "$here/packaging/Caddyfile" "$here/packaging/nginx.conf"; do
      if [ -f "$file" ]; then install -m 0644 "$file" "$docs/$(basename "$file")"; fi
    done
  fi
  is_staged || systemctl daemon-reload
}
install_binary() {
  mkdir -p "$(dirname "$binary")"
  # A new file and a rename: the file of a running program cannot be overwritten.
  install -m 0755 "$1" "$binary.new"
  mv -f "$binary.new" "$binary"
}

if is_staged; then
  mkdir -p "$root/var/log"
elif ! id -u "$user" >/dev/null 2>&1; then
  useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin "$user"
fi
is_staged || refuse_reachable
refuse_foreign_data

# --- upgrade --------------------------------------------------------------------------------------------------------

if [ -x "$binary" ] && [ -f "$config" ]; then
  old_version=$(version_of "$binary")
  say "Upgrading Postrider ${old_version:-of unknown version} to $new_version."
  "$source" check --config "$config" >/dev/null || fail 'the new version does not accept the config' 'Fix the lines named above, then run install.sh again. Nothing was changed.'
  if is_staged && [ -n "$(server_pid "$source")" ]; then
    fail "a server runs on $data" 'Stop it, then run install.sh again. Nothing was changed.'
  fi
  mkdir -p "$previous"
  # shellcheck disable=SC2016
  as_service sh -c 'mkdir -p -m 0700 "$1" && chmod 0700 "$1"' sh "$data/backups" || fail "cannot make $data/backups" 'Nothing was changed.'
  backup=$data/backups/before-$new_version-$(date -u +%Y%m%dT%H%M%SZ).backup
  say "Writing a backup to $backup."
  as_service "$binary" backup "$backup" --config "$config" >/dev/null || fail 'the backup failed' 'Nothing was changed.'
  # What needs disk space is written while the service still runs.
  if ! cp -p "$binary" "$previous/postrider" || ! install -m 0755 "$source" "$binary.new"; then
    rm -f "$binary.new"
    fail 'cannot write the new program' 'The service still runs the old version. Free space on the disk, then run install.sh again.'
  fi
  if [ -f "$unit" ]; then cp -p "$unit" "$previous/postrider.service"; fi
  may_run=no
  if ! is_staged; then
    # A service that failed or restarts again and again is meant to run; one that was stopped is not.
    case $(systemctl is-active postrider.service || true) in
      inactive | unknown | '') ;;
      *) may_run=yes; stop ;;
    esac
  fi
  mv -f "$binary.new" "$binary"
  # From here on every failure leads to the roll-back.
  if install_files && start && is_healthy; then
    if [ "$may_run" = no ]; then
      stop
      is_staged || say 'Stopped the service again, as it was before. To start it: systemctl start postrider'
    fi
    say "Postrider $new_version is installed. The old program is kept in $previous, the backup in $data/backups."
    exit 0
  fi
  say "Postrider $new_version did not start; rolling back." >&2
  stop || true
  install_binary "$previous/postrider"
  if [ -f "$previous/postrider.service" ]; then install -m 0644 "$previous/postrider.service" "$unit"; fi
  is_staged || systemctl daemon-reload
  # The data too: the new version may have migrated it. What it accepted meanwhile is in the copy that is set aside.
  as_service "$binary" restore "$backup" --config "$config" >/dev/null || fail 'the roll-back of the data failed' "Restore it by hand: postrider restore $backup"
  start
  is_healthy || fail 'the old version does not start either' 'Look at: journalctl -u postrider'
  if [ "$may_run" = no ]; then stop; fi
  fail "rolled back to ${old_version:-the old version}; the data is as before" 'Look at: journalctl -u postrider'
fi

# --- first installation ---------------------------------------------------------------------------------------------

[ -n "$hostname" ] || fail 'Missing option --hostname.' 'Give the name that this machine has in mail: ./install.sh --hostname mail.example.com'
mkdir -p "$(dirname "$config")"
install_binary "$source"
install_files
if [ -f "$config" ]; then
  say "Keeping $config and $data."
else
  if ! is_staged && [ -d "$data" ] && ! is_roots_data; then
    # Root writes nothing into a directory of the service's user; an empty one is made anew.
    rmdir "$data" 2>/dev/null || fail "$data holds data and $config is missing" 'Bring the config back, or move the directory away.'
  fi
  # Prints the dashboard password and the first key, once.
  set -- --hostname "$hostname" --config "$config" --data-dir "$data"
  [ -z "$acme" ] || set -- "$@" --acme "$acme"
  "$binary" init "$@"
fi
if ! is_staged; then
  chown -h root:"$user" "$(dirname "$config")" "$config"
  chmod 0750 "$(dirname "$config")"
  [ -L "$config" ] || chmod 0640 "$config"
  hand_over_data
  systemctl enable --quiet postrider.service
  start
  is_healthy || fail 'Postrider does not start' 'Look at: journalctl -u postrider'
fi

name=${hostname:-$(sed -n 's/^hostname *= *"\(.*\)".*/\1/p' "$config")}
url=$(sed -n 's/^public_url *= *"\(.*\)".*/\1/p' "$config" | head -n 1)
say "
Postrider $new_version is installed${root:+ below $root}. Next:
  1. DNS of this machine: an A record (and AAAA) for $name, reverse DNS of that address back to
     $name, and a TXT record at $name: \"v=spf1 ip4:<address> -all\"
  2. postrider doctor                          checks these records, port 25 and the rest of the machine
  3. postrider domain add <your domain> --account default     shows the records to publish for your first domain"
case $url in
  https://*)
    say "
Dashboard: $url/dashboard    (name: admin, password: above)
  Its certificate comes by itself within a minute or two once $name leads here and the ports 80 and 443 are open." ;;
  *)
    say "
Dashboard: http://127.0.0.1:8025/dashboard    (name: admin, password: above), on this machine only.
  From yours:  ssh -N -L 8025:127.0.0.1:8025 root@$name    then open the same address there.
  For everybody at https://$name: put Caddy or nginx in front, as $docs/Caddyfile
  and $docs/nginx.conf show; or set [acme] in $config, listen on 0.0.0.0:443 and restart." ;;
esac
