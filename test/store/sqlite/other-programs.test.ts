/** Programs beside the writer that lock the live file for moments, as replication and a shell do. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';

import { batchOf, newMessage } from '../samples.ts';
import { withStore } from '../test-store.ts';

/** Keeps the write lock until its standard input ends. */
const HOLDER = `
  const { Database } = require('bun:sqlite');
  const db = new Database(process.env.FILE);
  db.run('BEGIN IMMEDIATE');
  console.log('locked');
  for await (const _ of Bun.stdin.stream()) {}
  db.run('COMMIT');
`;

test('a write lock of another process delays a commit and does not end the writer', async () => {
  await withStore(async (store, account, dir) => {
    const holder = Bun.spawn([process.execPath, '-e', HOLDER], {
      env: { ...process.env, FILE: join(dir, 'mail.db') },
      stdin: 'pipe',
      stdout: 'pipe',
    });
    await holder.stdout.getReader().read();
    let isAnswered = false;
    const message = newMessage(account.id);
    const accepted = store.accept(batchOf(account.id, message)).finally(() => {
      isAnswered = true;
    });
    // Longer than any commit here takes; the lock stands until the next line but one.
    await Bun.sleep(300);
    expect(isAnswered).toBe(false);
    await holder.stdin.end();
    expect((await accepted).kind).toBe('accepted');
    expect(await store.message(account.id, message.message.id)).not.toBeNull();
    expect(await holder.exited).toBe(0);
  });
});
