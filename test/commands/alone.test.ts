/** A command without a server: it has the data directory to itself while it works, and its log is kept whatever came of it. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { loadConfig } from '../../src/base/config-file.ts';
import { Call, COMMON_OPTIONS } from '../../src/commands/command.ts';
import * as keeping from '../../src/commands/kept-log.ts';
import * as users from '../../src/commands/machine-user.ts';
import * as owners from '../../src/commands/owner.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { alone } from '../../src/commands/operate.ts';
import * as offering from '../../src/store/key-offer.ts';
import { lockDirectory } from '../../src/store/directory-lock.ts';
import { Console } from './console.ts';

let shop: Console;
beforeAll(async () => {
  shop = await Console.make();
}, 60_000);
afterAll(() => shop.close());
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(join(shop.dataDir, 'commands.log'), { force: true });
});

const ignore = (): void => undefined;

function call(say: (text: string) => void = ignore): Call {
  const given = COMMON_OPTIONS.map(
    (one) => [one, one.name === 'config' ? shop.config : undefined] as const,
  );
  return new Call(new Map(given), { print: ignore, write: () => true, say, note: ignore });
}

function isFree(): boolean {
  try {
    lockDirectory(shop.dataDir).release();
    return true;
  } catch {
    return false;
  }
}

/** Events of the kept log. */
function kept(): unknown[] {
  const lines = readFileSync(join(shop.dataDir, 'commands.log'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { event: string }).event);
}

test('the directory is its own until the log is kept; what the work gives is returned', async () => {
  const seen: boolean[] = [];
  const original = keeping.keepLines;
  spyOn(keeping, 'keepLines').mockImplementation((...args) => {
    seen.push(isFree());
    original(...args);
  });
  const result = await alone(call(), loadConfig(shop.config), (ctx) => {
    seen.push(isFree());
    ctx.log.info('worked', { n: 1 });
    return Promise.resolve('result');
  });
  expect([result, seen, isFree(), kept()]).toEqual(['result', [false, false], true, ['worked']]);
});

test('work that fails is logged all the same, and the directory is free afterwards', async () => {
  const work = alone(call(), loadConfig(shop.config), (ctx) => {
    ctx.log.warn('half_done');
    return Promise.reject(new Error('broken'));
  });
  expect(await work.catch(String)).toBe('Error: broken');
  expect([kept(), isFree()]).toEqual([['half_done'], true]);
});

test('a log that cannot be kept is shown line by line', async () => {
  spyOn(keeping, 'keepLines').mockImplementation(() => {
    throw new Error('no space');
  });
  let said = '';
  const one = call((text) => (said += `${text}\n`));
  await alone(one, loadConfig(shop.config), (ctx) => {
    for (const event of ['first', 'second']) ctx.log.info(event);
    return Promise.resolve();
  });
  const [head, ...lines] = said.trimEnd().split('\n');
  expect(head).toBe('Cannot keep these lines for the log (no space):');
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
    'first',
    'second',
  ]);
});

test('every command that opens the data works as their owner, and only where there are data', async () => {
  const backup = join(shop.folder, 'backup');
  expect((await shop.run('backup', backup)).code).toBe(0);
  const lines = [
    ['account', 'list'],
    ['rekey'],
    ['restore', backup],
    ['restore', '--key-only', backup],
    ['migrate', '--to', join(shop.folder, 'elsewhere')],
  ];
  const before = readdirSync(shop.dataDir).toSorted();
  const become = spyOn(owners, 'becomeOwner').mockImplementation((dataDir) => {
    throw new OperatorError(`as the owner of ${dataDir}`, '');
  });
  const offered = spyOn(offering, 'offerKey');
  for (const words of lines) {
    const { code, out, err } = await shop.run(...words);
    expect([words, code, out, err]).toEqual([words, 1, '', `as the owner of ${shop.dataDir}\n`]);
  }
  expect(readdirSync(shop.dataDir).toSorted()).toEqual(before);
  expect(offered).not.toHaveBeenCalled();
  become.mockRestore();
  renameSync(shop.dataDir, `${shop.dataDir}-away`);
  const none = `data_dir: the directory ${shop.dataDir} does not exist.`;
  for (const words of lines.filter((line) => line[1] !== backup)) {
    const { code, err } = await shop.run(...words);
    expect([words, code, err.split('\n')[0]]).toEqual([words, 78, none]);
  }
  expect(existsSync(shop.dataDir)).toBe(false);
  renameSync(`${shop.dataDir}-away`, shop.dataDir);
});

test('a key that does not fit leaves the directory free', async () => {
  const key = join(shop.dataDir, 'secret.key');
  await shop.run('webhook', 'add', 'https://8.8.8.8/h');
  const own = readFileSync(key);
  writeFileSync(key, Buffer.alloc(32, 9));
  expect((await shop.run('account', 'list')).code).toBe(78);
  expect(isFree()).toBe(true);
  writeFileSync(key, own);
  expect((await shop.run('account', 'list')).code).toBe(0);
});

test('who runs it is asked once, also where it waits for the directory', async () => {
  const asked = spyOn(users, 'machineUser').mockReturnValue('ann');
  const lock = lockDirectory(shop.dataDir);
  let waits = 0;
  spyOn(Bun, 'sleep').mockImplementation(() => {
    waits += 1;
    if (waits === 3) lock.release();
    return Promise.resolve();
  });
  expect((await shop.run('account', 'create', 'second')).code).toBe(0);
  expect([waits, asked.mock.calls.length]).toEqual([3, 1]);
  expect(await shop.json('audit', '--limit', '1')).toMatchObject([
    0,
    [{ who: 'ann', action: 'account.create' }],
  ]);
});
