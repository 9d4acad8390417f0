/** Deleted is gone: raw files of the data directory after retention, with rows of every size in random order. */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { batchOf, finishOf, newEvent, newLogRecord, newMessage, randomFrom } from '../samples.ts';
import { withStore } from '../test-store.ts';
import type { NewMessage } from '../../../src/store/journey.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** Long enough that no random id, salt or checksum has it by chance. */
const MARKER = 'Zq7XkW';

/** How many files of `dir` hold the marker, with the count in each. */
function findings(dir: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of readdirSync(dir)) {
    const count = readFileSync(join(dir, name)).toString('latin1').split(MARKER).length - 1;
    if (count > 0) found[name] = count;
  }
  return found;
}

test(
  `content of any size is out of every file after a round (SEED=${SEED})`,
  () =>
    withStore(async (store, account, dir) => {
      const below = randomFrom(SEED);
      const open: NewMessage[] = [];
      const size = (): number => [10, 300, 900, 3_000, 5_000, 20_000][below(6)] ?? 10;
      const content = (): string => `${MARKER}${below(1e6)} `.repeat(1 + size() / 13);
      let bytes = 0;
      for (let round = 0; round < 8; round += 1) {
        const made = Array.from({ length: 60 }, () => {
          const message = newMessage(account.id);
          message.body.text = content();
          message.body.html = below(2) === 0 ? content() : null;
          message.body.headers = [['X-One', content().slice(0, 200)]];
          message.body.attachments = below(4) === 0 ? [attachment(content())] : [];
          return message;
        });
        await store.accept(batchOf(account.id, ...made));
        await store.appendLogs(
          Array.from({ length: 40 }, () => newLogRecord(account.id, { requestBody: content() })),
        );
        open.push(...made);
        bytes = Math.max(bytes, findings(dir)['mail.db'] ?? 0, findings(dir)['mail.db-wal'] ?? 0);
        // Most of them end, in any order; the others later, so that rows of all ages move between pages.
        while (open.length > 40) {
          const [message] = open.splice(below(open.length), 1);
          const [recipient] = message?.recipients ?? [];
          if (message === undefined || recipient === undefined) throw new Error('no recipient');
          const events = [newEvent(message.message, recipient.id, 'email.delivered')];
          await store.finish(finishOf(message, recipient, { events }));
        }
        await store.purgeBodies(Date.now() + 60_000);
      }
      expect(bytes).toBeGreaterThan(1_000);
      for (const message of open) {
        const [recipient] = message.recipients;
        if (recipient === undefined) throw new Error('no recipient');
        await store.finish(finishOf(message, recipient, { events: [] }));
      }
      await store.purgeBodies(Date.now() + 60_000);
      await store.purgeLogs(account.id, Date.now() + 60_000);
      await store.scrub();
      // Checkpoints come after the report of their commit: one more write waits for them.
      await store.setSetting('x', 'y');
      await store.appendLogs([newLogRecord(account.id)]);
      expect({ seed: SEED, findings: findings(dir) }).toEqual({ seed: SEED, findings: {} });
    }),
  60_000,
);

function attachment(text: string): NewMessage['body']['attachments'][number] {
  return {
    filename: 'a.txt',
    contentType: 'text/plain',
    contentId: null,
    content: Buffer.from(text),
  };
}
