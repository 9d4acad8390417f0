/**
 * install.sh as root with a running service: upgrade, roll-back of a version that ends before it is ready, a disk
 * without free disk space, a service that was stopped. In a namespace of its own (rig/install-namespace).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';

import { PLATFORM } from '../rig/binary.ts';
import { CONFIG, FIRST, InstallNamespace, SHOW } from '../rig/install-namespace.ts';
import { describeWith } from '../rig/programs.ts';

describeWith(['root', 'small disk', 'mount'], 'install.sh with a service', () => {
  let space: InstallNamespace;

  beforeAll(() => {
    space = new InstallNamespace();
    // Ends as a version does whose migration fails: after it has begun, before it is ready.
    space.release('broken', `if [ "$1" = serve ]; then exit 1; fi; exec "$0.real" "$@"`);
  });
  afterAll(() => space.remove());

  test('upgrades; rolls back what does not start; leaves a stopped service stopped', () => {
    const { output, told } = space.inside(`${FIRST}
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
    expect(output).toContain('Stopped the service again, as it was before');
    expect(existsSync('/etc/postrider')).toBe(false);
  }, 60_000);

  test('a service that failed is started by the upgrade that fixes it', () => {
    const { output, told } = space.inside(`${FIRST}
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

  test('without free disk space for the new program the service keeps running', () => {
    const { output, told } = space.inside(`${FIRST}
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
    expect(output).toContain('cannot write the new program');
  }, 60_000);
});
