/** Which key opens a store, what each choice reads and writes, and how a key is replaced: over a store that notes it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { SecretBox } from '../../src/base/secret-box.ts';
import type { Context } from '../../src/flow/context.ts';
import { unlock } from '../../src/flow/data-key.ts';
import { rekey, type RekeyReport } from '../../src/flow/rekey.ts';
import { dkimLabel, endpointLabel, labelOf, totpLabel } from '../../src/flow/seal-labels.ts';
import { installKey, stageKey } from '../../src/store/key-file.ts';
import type { SealedSecret } from '../../src/store/secrets.ts';

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const OTHER = Buffer.alloc(32, 3);

let dir: string;
let asked: string[];
let settings: Record<string, string | null>;
let secrets: SealedSecret[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'data-key-'));
  [asked, settings, secrets] = [[], {}, []];
});
afterEach(() => rmSync(dir, { recursive: true }));

const store = {
  async setting(name: string) {
    asked.push(`read ${name}`);
    return settings[name] ?? null;
  },
  async setSetting(name: string, value: string | null) {
    asked.push(`write ${name}`);
    settings[name] = value;
  },
  async sealedSecrets() {
    asked.push('read secrets');
    return secrets;
  },
  async replaceSecrets(replaced: readonly SealedSecret[], set: Record<string, string | null>) {
    asked.push(`replace ${replaced.map(({ id }) => id).join(' ')}`);
    secrets = [...replaced];
    Object.assign(settings, set);
  },
};

const box = (key: Buffer): SecretBox => new SecretBox(key);
const secret = (kind: SealedSecret['kind'], id: string, key: Buffer): SealedSecret => ({
  kind,
  id,
  sealed: box(key).seal(`${kind} ${id}`, labelOf({ kind, id })),
});
const keyFile = (name = 'secret.key'): Buffer | null => {
  const file = join(dir, name);
  return existsSync(file) ? readFileSync(file) : null;
};
/** The fingerprint of what opens the store, or why it does not. */
const opened = (): Promise<string> =>
  unlock(dir, store).then(
    ({ fingerprint }) => fingerprint,
    (error: unknown) => (error instanceof OperatorError ? error.message : String(error)),
  );
const FINGERPRINT = 'key_fingerprint';

test('a store without a secret gets a key and its fingerprint, and then is read for that alone', async () => {
  const fingerprint = await opened();
  expect(keyFile()).toHaveLength(32);
  expect(fingerprint).toBe(box(keyFile() ?? OLD).fingerprint);
  expect(settings).toEqual({ [FINGERPRINT]: fingerprint });
  expect(asked.splice(0)).toEqual([`read ${FINGERPRINT}`, 'read secrets', `write ${FINGERPRINT}`]);
  expect(await opened()).toBe(fingerprint);
  expect(asked).toEqual([`read ${FINGERPRINT}`, 'read mac_key']);
});

test('a store of before is known by any secret that opens, and gets its fingerprint then', async () => {
  installKey(dir, OLD);
  secrets = [secret('dkim', 'd', OTHER), secret('webhook', 'e', OLD)];
  expect(await opened()).toBe(box(OLD).fingerprint);
  expect(settings).toEqual({ [FINGERPRINT]: box(OLD).fingerprint });
  expect(asked).toEqual([
    `read ${FINGERPRINT}`,
    'read secrets',
    `write ${FINGERPRINT}`,
    'read mac_key',
  ]);
  secrets = [secret('dkim', 'd', OTHER)];
  settings = {};
  expect(await opened()).toContain('is not the key of the database beside it');
  expect(settings).toEqual({});
});

test('a key that is missing or foreign is refused, and no other is made', async () => {
  settings = { [FINGERPRINT]: box(OLD).fingerprint };
  expect(await opened()).toContain('is missing');
  expect(keyFile()).toBeNull();
  stageKey(dir, OTHER);
  expect(await opened()).toContain('is missing');
  expect([keyFile(), keyFile('secret.key.next')]).toEqual([null, OTHER]);
  installKey(dir, NEW);
  expect(await opened()).toContain('is not the key');
  expect([keyFile(), keyFile('secret.key.next')]).toEqual([NEW, OTHER]);
});

test('of the key and the staged one that is the key which the store knows', async () => {
  installKey(dir, OLD);
  stageKey(dir, NEW);
  settings = { [FINGERPRINT]: box(NEW).fingerprint };
  expect(await opened()).toBe(box(NEW).fingerprint);
  expect([keyFile(), keyFile('secret.key.next')]).toEqual([NEW, null]);
  stageKey(dir, OTHER);
  expect(await opened()).toBe(box(NEW).fingerprint);
  expect([keyFile(), keyFile('secret.key.next')]).toEqual([NEW, null]);
});

test('a damaged key is refused as what it is, and the staged one takes its name only where the store knows that', async () => {
  settings = { [FINGERPRINT]: box(NEW).fingerprint };
  writeFileSync(join(dir, 'secret.key'), OLD.subarray(0, 31));
  expect(await opened()).toContain('secret.key');
  stageKey(dir, OTHER);
  expect(await opened()).toContain('secret.key');
  expect(keyFile()).toEqual(OLD.subarray(0, 31));
  stageKey(dir, NEW);
  expect(await opened()).toBe(box(NEW).fingerprint);
  expect([keyFile(), keyFile('secret.key.next')]).toEqual([NEW, null]);
});

test('a store that cannot keep the fingerprint is not opened', async () => {
  const full = {
    ...store,
    async setSetting() {
      throw new Error('the disk is full');
    },
  };
  const said = () =>
    unlock(dir, full).then(
      () => 'opened',
      (error: Error) => error.message,
    );
  expect(await said()).toBe('the disk is full');
  secrets = [secret('dkim', 'd', keyFile() ?? OLD)];
  expect(await said()).toBe('the disk is full');
});

test('the key of HMACs that was carried over is in force', async () => {
  installKey(dir, NEW);
  const carried = box(OLD).withMasterKey(NEW);
  settings = {
    [FINGERPRINT]: box(NEW).fingerprint,
    mac_key: Buffer.from(carried.sealMacKey()).toString('base64'),
  };
  const mac = async (): Promise<string> => (await unlock(dir, store)).mac('x', 'y').toString('hex');
  expect(await mac()).toBe(box(OLD).mac('x', 'y').toString('hex'));
  delete settings['mac_key'];
  expect(await mac()).toBe(box(NEW).mac('x', 'y').toString('hex'));
});

/** Replaces the key OLD; returns the report, the steps with what was on disk at each, and the lines of the log. */
async function replaced(endsLinks: boolean) {
  installKey(dir, OLD);
  settings = { [FINGERPRINT]: box(OLD).fingerprint };
  secrets = [
    secret('dkim', 'd', OLD),
    secret('next_dkim', 'd', OLD),
    secret('webhook', 'e', OTHER),
    secret('previous_webhook', 'e', OLD),
    secret('totp', 'o', OLD),
    secret('setting', 's', OLD),
  ];
  const lines: string[] = [];
  const steps: unknown[] = [];
  const ctx = {
    config: { startup: { dataDir: dir } },
    store,
    secrets: box(OLD),
    log: createLog(
      (line) => lines.push(line),
      () => 0,
    ),
  } as unknown as Context;
  const report: RekeyReport = await rekey(ctx, {
    endsLinks,
    onStep: (step) =>
      steps.push([
        step,
        keyFile()?.equals(OLD),
        keyFile('secret.key.next')?.length,
        settings[FINGERPRINT] === box(OLD).fingerprint,
      ]),
  });
  return { report, steps, logged: lines.map((line) => JSON.parse(line) as unknown) };
}

test.each([false, true])('a replacement, where links end: %p', async (endsLinks) => {
  const { report, steps, logged } = await replaced(endsLinks);
  expect(steps).toEqual([
    ['staged', true, 32, true],
    ['sealed', true, 32, false],
    ['named', false, undefined, false],
  ]);
  expect(asked).toEqual(['read secrets', 'replace d d e o s']);
  expect(report).toEqual({ sealed: 5, unreadable: [{ kind: 'webhook', id: 'e' }] });
  expect(logged).toEqual([
    {
      time: expect.any(String),
      level: 'info',
      event: 'rekeyed',
      sealed: 5,
      unreadable: 1,
      ends_links: endsLinks,
    },
  ]);
  const fresh = await unlock(dir, store);
  expect(fresh.fingerprint).toBe(box(keyFile() ?? OLD).fingerprint);
  expect(secrets.map(({ kind, id, sealed }) => fresh.open(sealed, labelOf({ kind, id })))).toEqual([
    'dkim d',
    'next_dkim d',
    'previous_webhook e',
    'totp o',
    'setting s',
  ]);
  expect(fresh.mac('x', 'y').equals(box(OLD).mac('x', 'y'))).toBe(!endsLinks);
  expect(settings['mac_key'] === null).toBe(endsLinks);
});

test('a replacement that the store does not take leaves the key its name, and the next start goes on with it', async () => {
  installKey(dir, OLD);
  settings = { [FINGERPRINT]: box(OLD).fingerprint };
  secrets = [secret('dkim', 'd', OLD)];
  const taken = Promise.withResolvers<void>();
  const steps: string[] = [];
  const full = { ...store, replaceSecrets: () => taken.promise };
  const log = createLog(
    (line) => steps.push(line),
    () => 0,
  );
  const ctx = { config: { startup: { dataDir: dir } }, store: full, secrets: box(OLD), log };
  const replacing = rekey(ctx as unknown as Context, {
    endsLinks: false,
    onStep: (step) => steps.push(step),
  }).catch(String);
  await new Promise((resolve) => setImmediate(resolve));
  expect([steps, keyFile()]).toEqual([['staged'], OLD]);
  taken.reject(new Error('the disk is full'));
  expect([await replacing, steps, keyFile()]).toEqual(['Error: the disk is full', ['staged'], OLD]);
  expect(await opened()).toBe(box(OLD).fingerprint);
  expect(keyFile('secret.key.next')).toBeNull();
});

test('each kind of secret has the label of its row', () => {
  expect(
    (['dkim', 'next_dkim', 'webhook', 'previous_webhook', 'totp', 'setting'] as const).map((kind) =>
      labelOf({ kind, id: 'x' }),
    ),
  ).toEqual(['dkim:x', 'dkim:x', 'endpoint:x', 'endpoint:x', 'totp:x', 'x']);
  expect([dkimLabel('a'), endpointLabel('a'), totpLabel('a')]).toEqual([
    'dkim:a',
    'endpoint:a',
    'totp:a',
  ]);
});
