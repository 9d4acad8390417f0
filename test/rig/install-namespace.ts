/**
 * install.sh as root in a namespace of its own: /etc is a copy, /usr/local, /var/lib and /run are empty, so nothing of
 * this machine is touched. No systemd runs there; a script replaces it that starts the unit's command as its user and,
 * like systemd for Type=notify, says that a start failed when the process ends before it is ready.
 */
import {
  chmodSync,
  cpSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY, PLATFORM } from './binary.ts';

const ROOT = join(import.meta.dir, '../..');
const REAL = '/run/postrider-real';
export const CONFIG = '/etc/postrider/postrider.toml';

/** With its own process numbers: whatever still runs in it at the end is ended. */
const NAMESPACE = ['unshare', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];

/** `$STATE` is a folder that outlives the namespace. */
const SYSTEMCTL = `#!/bin/sh
main() { cat "$STATE/pid" 2>/dev/null; }
is_alive() { [ -n "$(main)" ] && kill -0 "$(main)" 2>/dev/null; }
for last; do :; done
case $1 in
  start)
    : >"$STATE/out"
    setpriv --reuid=postrider --regid=postrider --clear-groups \\
      $(sed -n 's/^ExecStart=//p' /etc/systemd/system/postrider.service) >"$STATE/out" 2>>"$STATE/log" &
    echo $! >"$STATE/pid"
    while is_alive; do
      if grep -q ready "$STATE/out"; then exit 0; fi
      sleep 0.05
    done
    echo 'Job for postrider.service failed.' >&2
    exit 1 ;;
  stop)
    if is_alive; then kill -TERM "$(main)"; fi
    while is_alive; do sleep 0.05; done
    rm -f "$STATE/pid" ;;
  show) main ;;
  is-active)
    if is_alive; then state=active; code=0
    elif [ -e "$STATE/pid" ]; then state=failed; code=3
    else state=inactive; code=3; fi
    case $* in *--quiet*) ;; *) echo $state ;; esac
    exit $code ;;
  daemon-reload | reset-failed | enable) ;;
  *) echo "systemctl $*" >&2; exit 1 ;;
esac
`;

/** Everything inside one namespace; the steps are run one after the other and report by files in `$STATE`. */
const SETTING = `set -e
cp -a /etc "$STATE/etc"
mount --bind "$STATE/etc" /etc
for at in /usr/local /var/lib /run; do mount -t tmpfs -o mode=755 none $at; done
mkdir -p /run/systemd/system /usr/local/bin
# Where the service's user gets at it, wherever the repository lies.
: >${REAL}; mount --bind "$BINARY" ${REAL}
export PATH="$STATE/bin:/usr/sbin:/usr/bin:/sbin:/bin"
`;

/** A folder of releases and the namespace they are installed in. */
export class InstallNamespace {
  readonly state = mkdtempSync(join(tmpdir(), 'install-service-'));

  constructor() {
    chmodSync(this.state, 0o755);
    mkdirSync(join(this.state, 'bin'));
    mkdirSync(join(this.state, 'full'));
    writeFileSync(join(this.state, 'bin/systemctl'), SYSTEMCTL, { mode: 0o755 });
    this.release('good', `exec "$0.real" "$@"`);
  }

  remove(): void {
    rmSync(this.state, { recursive: true, force: true });
  }

  /** A folder with a program that calls the real one, which lies beside it wherever it is installed. */
  release(name: string, program: string): void {
    const at = join(this.state, name);
    mkdirSync(join(at, 'packaging'), { recursive: true });
    copyFileSync(join(ROOT, 'install.sh'), join(at, 'install.sh'));
    cpSync(join(ROOT, 'packaging'), join(at, 'packaging'), { recursive: true });
    const real = program.replaceAll('$0.real', REAL);
    const version = `if [ "$*" = "version --json" ]; then echo '{"version":"${name}"}'; exit; fi`;
    writeFileSync(join(at, `postrider-${PLATFORM}`), `#!/bin/sh\n${version}\n${real}\n`, {
      mode: 0o755,
    });
  }

  /** Runs the script in the namespace; every line that it wants known it writes with `tell`. */
  inside(script: string): { output: string; told: string[] } {
    writeFileSync(join(this.state, 'told'), '');
    const tell = `tell() { echo "$*" >>"$STATE/told"; }\n`;
    const done = Bun.spawnSync([...NAMESPACE, 'sh', '-c', SETTING + tell + script], {
      env: { ...process.env, STATE: this.state, BINARY },
      stderr: 'pipe',
    });
    rmSync(join(this.state, 'etc'), { recursive: true, force: true });
    const told = readFileSync(join(this.state, 'told'), 'utf8').trim().split('\n');
    return { output: done.stdout.toString() + done.stderr.toString(), told };
  }
}

/** Installs the release `good` for the first time. */
export const FIRST = `
mkdir -p /etc/postrider
"$STATE/good/postrider-${PLATFORM}" init --hostname mail.example.com --config ${CONFIG} --data-dir /var/lib/postrider >/dev/null
sed -i 's/^listen = "127.0.0.1:8025"/listen = "127.0.0.1:0"/' ${CONFIG}
"$STATE/good/install.sh" --hostname mail.example.com
tell "first $?"
`;
export const SHOW = `tell "$(postrider version --json) $(systemctl is-active x || true)"\n`;
