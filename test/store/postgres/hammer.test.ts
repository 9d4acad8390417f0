/**
 * Bun's client under everything at once: writes of all sizes, reads, refusals and lost sessions, each answer compared with
 * what was asked. Its history of mixed-up answers is why this test is here.
 */
import { expect, test } from 'bun:test';

import { openPostgres } from '../../../src/store/postgres/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newMessage, randomFrom } from '../samples.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 100_000);
const WORKERS = 24;
const ROUNDS = 12;
/** With what PostgreSQL, arrays of it or JSON would have to escape. */
const PIECES = [
  '"',
  "'",
  '\\',
  '{}',
  ',',
  'NULL',
  '\n',
  'ünï',
  '😀',
  '\0',
  '$1',
  ' ',
  'plain words ',
];

test(`every answer is the one that was asked for (POSTRIDER_SEED=${SEED})`, async () => {
  const draw = randomFrom(SEED);
  const server = await testServer();
  const url = await server.freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const account = newAccount('default');
  await store.createAccount(account);
  const textOf = (length: number): string => {
    let text = '';
    while (text.length < length) text += PIECES[draw(PIECES.length)] ?? '';
    return text;
  };
  let checked = 0;
  const sendAndRead = async (): Promise<void> => {
    const message = newMessage(account.id, { subject: textOf(40).replaceAll('\0', '') });
    const size = draw(10) === 0 ? draw(400_000) : draw(4_000);
    message.body.html = textOf(size);
    const [file] = message.body.attachments;
    if (file !== undefined) file.content = Buffer.alloc(draw(100_000), draw(256));
    expect((await store.accept(batchOf(account.id, message))).kind).toBe('accepted');
    const kept = await store.messageForDelivery(message.message.id);
    expect(kept?.message.subject).toBe(message.message.subject);
    expect(kept?.body.html === message.body.html).toBe(true);
    expect(
      Buffer.from(kept?.body.attachments[0]?.content ?? '').equals(file?.content ?? Buffer.of()),
    ).toBe(true);
    // Refused by the database, in the same groups and on the same connections.
    if (draw(4) === 0) {
      const again = await store.accept(batchOf(account.id, message)).catch(() => 'refused');
      expect(again).toBe('refused');
    }
    checked += 1;
  };
  const setting = async (name: string): Promise<void> => {
    const value = textOf(draw(200)).replaceAll('\0', '');
    await store.setSetting(name, value);
    expect(await store.setting(name)).toBe(value);
    checked += 1;
  };
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await (draw(3) === 0 ? setting(`worker ${worker}`) : sendAndRead());
      }
    }),
  );
  expect(checked).toBe(WORKERS * ROUNDS);
  await store.close();
}, 60_000);
