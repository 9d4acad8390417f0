/**
 * install.sh as root with a running service: upgrade, roll-back of a version that ends before it is ready, a disk
 * without room, a service that was stopped.
 *
 * In a namespace of its own: /etc is a copy, /usr/local, /var/lib and /run are empty, so nothing of this machine
 * is touched. No systemd runs there; a script takes its place that starts the unit's command as its user and, like
 * systemd for Type=notify, says that a start failed when the process ends before it is ready.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  chmodSync,
  cpSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY, PLATFORM } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';

const ROOT = join(import.meta.dir, '../..');
const REAL = '/run/postrider-real';
const CONFIG = '/etc/postrider/postrider.toml';

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
const PLACE = `set -e
cp -a /etc "$STATE/etc"
mount --bind "$STATE/etc" /etc
for at in /usr/local /var/lib /run; do mount -t tmpfs -o mode=755 none $at; done
mkdir -p /run/systemd/system /usr/local/bin
# Where the service's user gets at it, wherever the repository lies.
: >${REAL}; mount --bind "$BINARY" ${REAL}
export PATH="$STATE/bin:/usr/sbin:/usr/bin:/sbin:/bin"
`;

describeWith(['root', 'small disk', 'mount'], 'install.sh with a service', () => {
  let state: string;

  beforeAll(() => {
    state = mkdtempSync(join(tmpdir(), 'install-service-'));
    chmodSync(state, 0o755);
    mkdirSync(join(state, 'bin'));
    mkdirSync(join(state, 'full'));
    writeFileSync(join(state, 'bin/systemctl'), SYSTEMCTL, { mode: 0o755 });
    release('good', `exec "$0.real" "$@"`);
    // Ends as a version does whose migration fails: after it has begun, before it is ready.
    release('broken', `if [ "$1" = serve ]; then exit 1; fi; exec "$0.real" "$@"`);
  });
  afterAll(() => rmSync(state, { recursive: true, force: true }));

  /** A folder with a program that calls the real one, which lies beside it wherever it is installed. */
  function release(name: string, program: string): void {
    const at = join(state, name);
    mkdirSync(join(at, 'packaging'), { recursive: true });
    copyFileSync(join(ROOT, 'install.sh'), join(at, 'install.sh'));
    cpSync(join(ROOT, 'packaging'), join(at, 'packaging'), { recursive: true });
    const real = program.replaceAll('$0.real', REAL);
    const version = `if [ "$1" = version ]; then echo '{"version":"${name}"}'; exit; fi`;
    writeFileSync(join(at, `postrider-${PLATFORM}`), `#!/bin/sh\n${version}\n${real}\n`, {
      mode: 0o755,
    });
  }

  /** Runs the script in the namespace; every line that it wants known it writes with `tell`. */
  function inside(script: string): { output: string; told: string[] } {
    writeFileSync(join(state, 'told'), '');
    const tell = `tell() { echo "$*" >>"$STATE/told"; }\n`;
    const done = Bun.spawnSync([...NAMESPACE, 'sh', '-c', PLACE + tell + script], {
      env: { ...process.env, STATE: state, BINARY },
      stderr: 'pipe',
    });
    rmSync(join(state, 'etc'), { recursive: true, force: true });
    const told = readFileSync(join(state, 'told'), 'utf8').trim().split('\n');
    return { output: done.stdout.toString() + done.stderr.toString(), told };
  }

  const FIRST = `
mkdir -p /etc/postrider
"$STATE/good/postrider-${PLATFORM}" init --hostname mail.example.com --config ${CONFIG} --data-dir /var/lib/postrider >/dev/null
sed -i 's/^listen = "127.0.0.1:8025"/listen = "127.0.0.1:0"/' ${CONFIG}
"$STATE/good/install.sh" --hostname mail.example.com
tell "first $?"
`;
  const SHOW = `tell "$(postrider version --json) $(systemctl is-active x || true)"\n`;

  test('upgrades; rolls back what does not come up; leaves one that was stopped so', () => {
    const { output, told } = inside(`${FIRST}
export PATH="$PATH:/usr/local/bin"
${SHOW}
tell "owner $(stat -c %U:%a /var/lib/postrider) $(stat -c %U:%G:%a ${CONFIG})"
runs_as=$(stat -c %U "/proc/$(cat "$STATE/pid")"); tell "runs as $runs_as"
cp -r "$STATE/good" "$STATE/newer"; sed -i 's/"version":"good"/"version":"newer"/' "$STATE/newer/postrider-${PLATFORM}"
"$STATE/newer/install.sh"; tell "upgrade $?"
${SHOW}
code=0; "$STATE/broken/install.sh" || code=$?; tell "broken $code"
${SHOW}
tell "accounts $(postrider account list --config ${CONFIG} --json | grep -c default)"
systemctl stop postrider.service
"$STATE/good/install.sh"; tell "stopped $?"
${SHOW}
`);
    expect({ told, output }).toMatchObject({
      told: [
        'first 0',
        '{"version":"good"} active',
        'owner postrider:700 root:postrider:640',
        'runs as postrider',
        'upgrade 0',
        '{"version":"newer"} active',
        'broken 1',
        '{"version":"newer"} active',
        'accounts 1',
        'stopped 0',
        '{"version":"good"} inactive',
      ],
    });
    expect(output).toContain('rolled back to newer');
    expect(output).toContain('Stopped again, as it was before');
    expect(existsSync('/etc/postrider')).toBe(false);
  }, 60_000);

  test('a service that failed is started by the upgrade that mends it', () => {
    const { output, told } = inside(`${FIRST}
export PATH="$PATH:/usr/local/bin"
kill -KILL "$(cat "$STATE/pid")"; while kill -0 "$(cat "$STATE/pid")" 2>/dev/null; do sleep 0.05; done
${SHOW}
"$STATE/good/install.sh"; tell "upgrade $?"
${SHOW}
systemctl stop x
`);
    expect({ told, output }).toMatchObject({
      told: ['first 0', '{"version":"good"} failed', 'upgrade 0', '{"version":"good"} active'],
    });
  }, 60_000);

  test('without room for the new program the service goes on', () => {
    const { output, told } = inside(`${FIRST}
export PATH="$PATH:/usr/local/bin"
mount -t tmpfs -o size=64k,mode=755 none "$STATE/full"
cp -a /usr/local/bin/postrider "$STATE/full/"
mount --bind "$STATE/full" /usr/local/bin
head -c 60000 /dev/zero >"$STATE/full/filler" || true
cp -r "$STATE/good" "$STATE/large"; head -c 20000 /dev/zero | tr '\\0' '#' >>"$STATE/large/postrider-${PLATFORM}"
before=$(cat "$STATE/pid")
code=0; "$STATE/large/install.sh" || code=$?; tell "upgrade $code"
${SHOW}
if [ "$before" = "$(cat "$STATE/pid")" ]; then tell 'never stopped'; fi
tell "$(ls /usr/local/bin | xargs)"
systemctl stop x
`);
    expect({ told, output }).toMatchObject({
      told: [
        'first 0',
        'upgrade 1',
        '{"version":"good"} active',
        'never stopped',
        'filler postrider',
      ],
    });
    expect(output).toContain('the new program can not be written');
  }, 60_000);
});
