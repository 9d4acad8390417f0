/** The secret key and the data that it belongs to: refusals, restores, a new key, and a kill at each of its steps. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { closeContext, openContext } from '../../src/appliance/context.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import type { Context } from '../../src/flow/context.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { rekey } from '../../src/flow/rekey.ts';
import { labelOf } from '../../src/flow/seal-labels.ts';
import { offerKey } from '../../src/store/key-offer.ts';
import { stageKey } from '../../src/store/key-file.ts';
import { SEALED } from '../../src/store/settings.ts';
import { inspectKey } from '../../src/store/sqlite/key-inspection.ts';
import { keyOfBackup, restoreBackup } from '../../src/store/sqlite/restore.ts';

/** What nodes keep sealed in a setting. */
const SETTING = `${SEALED}acme_account`;

let root: string;
let dataDir: string;
let keyFile: string;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'data-key-'));
  dataDir = join(root, 'data');
  keyFile = join(dataDir, 'secret.key');
  await within(async (ctx) => {
    const account = await createAccount(ctx, { name: 'default' });
    await addDomain(ctx, account, 'shop.example');
    const sealed = ctx.secrets.seal('account key', SETTING);
    await ctx.store.setSetting(SETTING, Buffer.from(sealed).toString('hex'));
  });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function open(): Promise<Context> {
  const config = parseConfig(`hostname = "mail.rig.test"\ndata_dir = "${dataDir}"`, 'test');
  const log = createLog(
    () => undefined,
    () => Date.now(),
  );
  return openContext(config, { clock: systemClock, log });
}

async function within<T>(work: (ctx: Context) => Promise<T> | T): Promise<T> {
  const ctx = await open();
  try {
    return await work(ctx);
  } finally {
    await closeContext(ctx);
  }
}

/** Every secret as text, by its row. Throws when one does not open. */
function secretsOf(ctx: Context): Promise<string[]> {
  return ctx.store
    .sealedSecrets()
    .then((all) => all.map((one) => ctx.secrets.open(one.sealed, labelOf(one))));
}

async function refusalOf(work: () => unknown): Promise<OperatorError> {
  const error: unknown = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (reason: unknown) => reason,
    );
  if (!(error instanceof OperatorError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

/** As a release without fingerprints has left it. */
function forgetFingerprint(): void {
  const db = new Database(join(dataDir, 'mail.db'));
  expect(db.run("DELETE FROM settings WHERE name = 'key_fingerprint'").changes).toBe(1);
  db.close();
}

describe('a key that does not fit', () => {
  const faults: [name: string, make: () => void][] = [
    ['missing', () => rmSync(keyFile)],
    ['foreign', () => writeFileSync(keyFile, Buffer.alloc(32, 7))],
    [
      'damaged: one bit',
      () =>
        writeFileSync(
          keyFile,
          readFileSync(keyFile).map((b, i) => (i === 9 ? b ^ 1 : b)),
        ),
    ],
    ['damaged: cut', () => writeFileSync(keyFile, readFileSync(keyFile).subarray(0, 31))],
    ['damaged: empty', () => writeFileSync(keyFile, '')],
  ];
  for (const [name, make] of faults) {
    for (const isOld of [false, true]) {
      test(`${name}: ${isOld ? 'a store of before' : 'the store'} is not opened, and no key is made`, async () => {
        if (isOld) forgetFingerprint();
        make();
        const before = existsSync(keyFile) ? readFileSync(keyFile) : null;
        const error = await refusalOf(open);
        expect(error.exitCode).toBe(78);
        expect(error.message).toContain(keyFile);
        expect(error.hint).toContain('postrider restore --key-only');
        expect(existsSync(keyFile) ? readFileSync(keyFile) : null).toEqual(before);
        if (!isOld) expect(inspectKey(dataDir)).toBeInstanceOf(OperatorError);
      });
    }
  }

  test('a store of before gets its fingerprint from a secret that opens', async () => {
    forgetFingerprint();
    expect(inspectKey(dataDir)).toBe('unknown');
    await within(secretsOf);
    expect(inspectKey(dataDir)).toBe('right');
  });

  test('a backup is refused while the key file is not the key of the data', async () => {
    await within(async (ctx) => {
      const file = join(root, 'one.backup');
      writeFileSync(keyFile, Buffer.alloc(32, 7));
      expect((await refusalOf(() => ctx.store.backUpTo(file))).message).toContain('not the key');
      rmSync(keyFile);
      expect((await refusalOf(() => ctx.store.backUpTo(file))).message).toContain('missing');
      expect(readdirSync(root)).toEqual(['data']);
    });
    expect(existsSync(keyFile)).toBe(false);
  });
});

describe('bringing it back', () => {
  async function backup(): Promise<string> {
    const file = join(root, `${Bun.randomUUIDv7()}.backup`);
    await within((ctx) => ctx.store.backUpTo(file));
    return file;
  }

  test('the key of a backup is taken where the data open with it, and the other file is kept', async () => {
    const key = readFileSync(keyFile);
    const file = await backup();
    rmSync(keyFile);
    const alone = offerKey(dataDir, keyOfBackup(file));
    await within(secretsOf);
    expect([alone.setAside(), readFileSync(keyFile)]).toEqual([null, key]);
    writeFileSync(keyFile, Buffer.alloc(32, 7));
    rmSync(keyFile);
    writeFileSync(keyFile, Buffer.alloc(32, 7), { mode: 0o600 });
    const instead = offerKey(dataDir, keyOfBackup(file));
    await within(secretsOf);
    const aside = instead.setAside() ?? '';
    expect([readFileSync(aside), readFileSync(keyFile)]).toEqual([Buffer.alloc(32, 7), key]);
  });

  test('a key that opens nothing here is refused, and nothing has changed', async () => {
    const key = readFileSync(keyFile);
    rmSync(keyFile);
    const offered = offerKey(dataDir, Buffer.alloc(32, 9));
    expect((await refusalOf(open)).message).toContain('missing');
    offered.undo();
    expect(readdirSync(dataDir).filter((name) => name.startsWith('secret'))).toEqual([]);
    writeFileSync(keyFile, key, { mode: 0o600 });
    await within(secretsOf);
  });

  test('a crash in a restore leaves the old data with their key, or the new ones with theirs', async () => {
    const old = await backup();
    const oldKey = keyOfBackup(old);
    await within((ctx) => rekey(ctx, { endsLinks: false }));
    const newKey = readFileSync(keyFile);
    // Before the data are named: the staged key does not fit.
    stageKey(dataDir, oldKey);
    await within(secretsOf);
    expect([readFileSync(keyFile), existsSync(`${keyFile}.next`)]).toEqual([newKey, false]);
    // After it.
    const elsewhere = join(root, 'elsewhere');
    restoreBackup(old, elsewhere, Date.now());
    copyFileSync(join(elsewhere, 'mail.db'), join(dataDir, 'mail.db'));
    stageKey(dataDir, oldKey);
    await within(secretsOf);
    expect([readFileSync(keyFile).equals(oldKey), existsSync(`${keyFile}.next`)]).toEqual([
      true,
      false,
    ]);
  });
});

describe('rekey', () => {
  for (const step of ['opened', 'staged', 'sealed', 'named', '']) {
    test(`killed when ${step || 'done'}: the next start opens every secret under one of the two keys`, async () => {
      const before = readFileSync(keyFile);
      const [secrets, mac] = await within(async (ctx) => [
        await secretsOf(ctx),
        ctx.secrets.mac('unsubscribe', 'x').toString('hex'),
      ]);
      const child = Bun.spawn(
        [process.execPath, join(import.meta.dir, 'rekey-child.ts'), dataDir, step],
        { stderr: 'inherit' },
      );
      expect(await child.exited).toBe(step === '' ? 0 : 137);
      await within(async (ctx) => {
        expect(await secretsOf(ctx)).toEqual(secrets);
        expect(ctx.secrets.mac('unsubscribe', 'x').toString('hex')).toBe(mac);
      });
      const isReplaced = !['opened', 'staged'].includes(step);
      expect(readFileSync(keyFile).equals(before)).toBe(!isReplaced);
      expect(readdirSync(dataDir).filter((name) => name.startsWith('secret'))).toEqual([
        'secret.key',
      ]);
      // The other key opens nothing any more.
      writeFileSync(keyFile, isReplaced ? before : Buffer.alloc(32, 3));
      expect((await refusalOf(open)).message).toContain('not the key');
    });
  }

  test('after a leak the HMACs change too, and twice in a row works', async () => {
    const macOf = (ctx: Context): string => ctx.secrets.mac('unsubscribe', 'x').toString('hex');
    const first = await within(macOf);
    await within((ctx) => rekey(ctx, { endsLinks: false }));
    await within((ctx) => rekey(ctx, { endsLinks: false }));
    expect(await within(macOf)).toBe(first);
    await within((ctx) => rekey(ctx, { endsLinks: true }));
    expect(await within(macOf)).not.toBe(first);
    expect(await within(secretsOf)).toHaveLength(2);
  });

  test('a secret that the old key does not open stays as it is and is named', async () => {
    const db = new Database(join(dataDir, 'mail.db'));
    db.run("UPDATE domains SET sealed_dkim_key = x'01020304'");
    db.close();
    const report = await within((ctx) => rekey(ctx, { endsLinks: false }));
    expect(report.sealed).toBe(1);
    expect(report.unreadable).toMatchObject([{ kind: 'dkim' }]);
  });
});
