/**
 * install.sh as root, with links and other things planted by the service's user or lying where root writes: nothing
 * outside Postrider's own folders changes hands, mode or content, whether the run goes through or is refused.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { CONFIG, FIRST, InstallNamespace } from '../rig/install-namespace.ts';
import { describeWith } from '../rig/programs.ts';

const DATA = '/var/lib/postrider';
const NEXT = `${DATA}/backups/before-good`;

/**
 * What the service's user can do in its own directory: the command, and install.sh's exit code on the upgrade after it.
 * VICTIM is a folder of root's with a file in it. Every target lies where the namespace has its own copy: a fault of
 * install.sh must not reach this machine.
 */
const PLANTED: [kind: string, command: string, code: 0 | 1][] = [
  ['backups is a link to /etc/cron.d', `ln -s /etc/cron.d ${DATA}/backups`, 1],
  ['backups is a link to a folder of root', `ln -s $VICTIM ${DATA}/backups`, 1],
  ['backups is a link to nothing in a folder of root', `ln -s $VICTIM/new ${DATA}/backups`, 1],
  ['backups is a link to /etc', `ln -s /etc ${DATA}/backups`, 1],
  ['backups is a link to a file', `ln -s $VICTIM/file ${DATA}/backups`, 1],
  ['backups is a file', `: >${DATA}/backups`, 1],
  ['backups is a pipe', `mkfifo ${DATA}/backups`, 1],
  [
    'every backup of this minute is a link',
    `mkdir ${DATA}/backups; now=$(date +%s); for s in $(seq 0 90); do ln -s $VICTIM/file ${NEXT}-$(date -u -d "@$((now + s))" +%Y%m%dT%H%M%SZ).backup; done`,
    1,
  ],
  [
    'every draft of a backup is a link',
    `mkdir ${DATA}/backups; now=$(date +%s); for s in $(seq 0 90); do ln -s $VICTIM/file ${NEXT}-$(date -u -d "@$((now + s))" +%Y%m%dT%H%M%SZ).backup.part; done`,
    0,
  ],
  [
    'every backup of this minute is a directory',
    `mkdir ${DATA}/backups; now=$(date +%s); for s in $(seq 0 90); do mkdir ${NEXT}-$(date -u -d "@$((now + s))" +%Y%m%dT%H%M%SZ).backup; done`,
    1,
  ],
  [
    'every backup of this minute is a pipe',
    `mkdir ${DATA}/backups; now=$(date +%s); for s in $(seq 0 90); do mkfifo ${NEXT}-$(date -u -d "@$((now + s))" +%Y%m%dT%H%M%SZ).backup; done`,
    1,
  ],
  ['a link to root’s file lies in the data', `ln -s $VICTIM/file ${DATA}/linked`, 0],
  ['a link to root’s folder lies in the data', `ln -s $VICTIM ${DATA}/linked`, 0],
  [
    'a link to /etc/shadow lies in the backups',
    `mkdir ${DATA}/backups; ln -s /etc/shadow ${DATA}/backups/x`,
    0,
  ],
  ['previous is a link in the data', `ln -s $VICTIM ${DATA}/previous`, 0],
  ['the draft of a restore is a link', `ln -s $VICTIM/file ${DATA}/mail.db.restoring`, 0],
  ['the staged key is a link', `ln -s $VICTIM/file ${DATA}/secret.key.next`, 0],
];

/** What an operator may have left writable or linked: install.sh refuses it and changes nothing. */
const REACHABLE: [kind: string, command: string][] = [
  [
    'the data directory is a link to /etc/cron.d',
    `mv ${DATA} ${DATA}.was; ln -s /etc/cron.d ${DATA}`,
  ],
  ['the data directory is a file', `mv ${DATA} ${DATA}.was; : >${DATA}`],
  ['the data directory belongs to somebody else', `chown daemon ${DATA}`],
  ['the service can write above the data', 'chmod 0777 /var/lib'],
  ['the config directory is the service’s', 'chown postrider /etc/postrider'],
  ['the group may write to the config directory', 'chmod 0770 /etc/postrider'],
  ['the unit’s folder is the service’s', 'chown postrider /etc/systemd/system'],
  ['the program’s folder is the service’s', 'chown postrider /usr/local/bin'],
  [
    'the folder of documents is a link to one of the service',
    `rm -r /usr/local/share; mkdir /run/own; chown postrider /run/own; ln -s /run/own /usr/local/share`,
  ],
  [
    'the previous program is the service’s',
    'mkdir -p /usr/local/lib/postrider/previous; chown postrider /usr/local/lib/postrider/previous',
  ],
];

const SNAPSHOT = `
export PATH="$PATH:/usr/local/bin" VICTIM=/run/victim
mkdir -m 0755 /run/victim; echo root >/run/victim/file
as_user() { setpriv --reuid=postrider --regid=postrider --clear-groups sh -c "$1"; }
outside() {
  find /etc /run/victim -path /etc/postrider -prune -o -path /etc/systemd/system/postrider.service -prune -o \\
    -path /etc/systemd/system -prune -o -printf '%p %u %g %m %s %T@ %l\\n' | sort | sha256sum
}
`;

describeWith(['root', 'small disk', 'mount'], 'install.sh against planted links', () => {
  let space: InstallNamespace;

  beforeAll(() => {
    space = new InstallNamespace();
  });
  afterAll(() => space.remove());

  test('an upgrade over what the service has planted changes nothing outside', () => {
    const steps = PLANTED.map(
      ([, command], index) => `
as_user '${command}' || tell "cannot plant ${index}"
before=$(outside)
code=0; "$STATE/good/install.sh" >/dev/null 2>"$STATE/why" </dev/null || code=$?
if [ "$before" = "$(outside)" ]; then after=same; else after=changed; fi
if [ "$(stat -c %U:%a ${DATA})" = postrider:700 ]; then tell "${index} $code $after"; else tell "${index} data"; fi
rm -rf ${DATA}/backups ${DATA}/linked ${DATA}/previous ${DATA}/mail.db.restoring ${DATA}/secret.key.next
`,
    );
    const { output, told } = space.inside(`${FIRST}${SNAPSHOT}
systemctl stop postrider.service
${steps.join('')}`);
    const kinds = PLANTED.map(([kind, , code], index) => [kind, `${index} ${code} same`]);
    expect({ told, output }).toMatchObject({ told: ['first 0', ...kinds.map(([, line]) => line)] });
  }, 240_000);

  test('what the service could replace is refused before anything is written', () => {
    const steps = REACHABLE.map(
      ([, command], index) => `
( cp -a /etc "$STATE/etc${index}"; mount --bind "$STATE/etc${index}" /etc
for at in /usr/local /var/lib; do
  mkdir -p /run/copy$at; cp -a $at/. /run/copy$at; mount --bind /run/copy$at $at
done
chmod 755 /var/lib
${command}
before=$(outside; find /usr/local /var/lib -printf '%p %u %g %m %s %l\\n' | sort | sha256sum)
code=0; "$STATE/good/install.sh" >/dev/null 2>"$STATE/why" </dev/null || code=$?
after=$(outside; find /usr/local /var/lib -printf '%p %u %g %m %s %l\\n' | sort | sha256sum)
if [ "$before" = "$after" ]; then tell "${index} $code same"; else tell "${index} $code changed"; fi
cat "$STATE/why" >&2
for at in /usr/local /var/lib /etc; do umount $at; done; rm -rf /run/copy /run/own "$STATE/etc${index}" )
`,
    );
    const { output, told } = space.inside(`${FIRST}${SNAPSHOT}
systemctl stop postrider.service
${steps.join('')}`);
    expect({ told, output }).toMatchObject({
      told: ['first 0', ...REACHABLE.map((_, index) => `${index} 1 same`)],
    });
  }, 240_000);

  test('the first installation over data from before: links and second names stay root’s', () => {
    const { output, told } = space.inside(`${FIRST}${SNAPSHOT}
systemctl stop postrider.service
rm /usr/local/bin/postrider
ln -s $VICTIM/file ${DATA}/linked; ln -s $VICTIM ${DATA}/folder
before=$(outside)
"$STATE/good/install.sh" --hostname mail.example.com; tell "again $?"
if [ "$before" = "$(outside)" ]; then tell same; fi
systemctl stop postrider.service
rm ${CONFIG} /usr/local/bin/postrider
code=0; "$STATE/good/install.sh" --hostname mail.example.com || code=$?; tell "without config $code"
chown -hR root:root ${DATA}; chown postrider ${DATA}/mail.db; rm -f /usr/local/bin/postrider
echo 'hostname = "mail.example.com"' >${CONFIG}
code=0; "$STATE/good/install.sh" --hostname mail.example.com || code=$?; tell "mixed $code"
if [ "$before" = "$(outside)" ]; then tell same; fi
`);
    expect({ told, output }).toMatchObject({
      told: ['first 0', 'again 0', 'same', 'without config 1', 'mixed 1', 'same'],
    });
  }, 120_000);

  test('an upgrade while the service swaps links and folders all the time changes nothing outside', () => {
    const { output, told } = space.inside(`${FIRST}${SNAPSHOT}
systemctl stop postrider.service
cat >/run/swap <<'EOF'
cd ${DATA}
at=0
while :; do
  for target in $VICTIM /etc/cron.d $VICTIM/file /etc/shadow; do
    for name in backups previous mail.db.restoring mail.db-journal; do
      ln -sfn "$target" "next$$"; mv -fT "next$$" $name 2>/dev/null || rm -rf $name "next$$"
    done
    rm -f backups; mkdir backups 2>/dev/null; ln -s "$target" backups/in$at 2>/dev/null
    rm -rf backups
    at=$((at + 1))
    echo $at >>swaps
  done
done
EOF
chmod 755 /run/swap
before=$(outside)
setpriv --reuid=postrider --regid=postrider --clear-groups sh /run/swap >/dev/null 2>&1 &
swapper=$!
for round in 1 2 3 4 5 6; do
  "$STATE/good/install.sh" >/dev/null </dev/null || true
  systemctl stop postrider.service
  if [ "$before" = "$(outside)" ]; then tell "$round same"; else tell "$round changed"; fi
done
# A line for each: a file that is written anew is empty for a moment, and the end may come just then.
kill $swapper || tell 'the swapper has ended'
tell "swapped $(test "$(wc -l <${DATA}/swaps)" -gt 20 && echo often)"
`);
    const rounds = Array.from({ length: 6 }, (_, index) => `${index + 1} same`);
    expect({ told, output }).toMatchObject({ told: ['first 0', ...rounds, 'swapped often'] });
  }, 240_000);
});
