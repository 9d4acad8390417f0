/**
 * A process for the crash tests: accepts messages over some lanes and prints each id once the store has
 * resolved it. Arguments: data directory, lanes, messages in all, bytes of content. Ends with "closed".
 */
import { writeSync } from 'node:fs';

import { createLog } from '../../../src/base/log.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';

const [dataDir = '', lanes = '1', count = '1', bytes = '100'] = process.argv.slice(2);
/** Straight to the descriptor: what is printed has left this process. */
const print = (line: string): number => writeSync(1, `${line}\n`);

const log = createLog((line) => writeSync(2, `${line}\n`), Date.now);
const store = await openStore({ dataDir, now: Date.now(), log });
const fresh = newAccount('default');
await store.createAccount(fresh);
const account = (await store.account('default')) ?? fresh;
print(`account ${account.id}`);

let left = Number(count);
async function lane(): Promise<void> {
  while (left > 0) {
    left -= 1;
    const message = newMessage(account.id);
    message.body.text = 'x'.repeat(Number(bytes));
    try {
      await store.accept(batchOf(account.id, message));
      print(`id ${message.message.id}`);
    } catch (error) {
      if (!(error instanceof StoreFullError)) throw error;
      print('full');
    }
  }
}
await Promise.all(Array.from({ length: Number(lanes) }, lane));
await store.close();
print('closed');
