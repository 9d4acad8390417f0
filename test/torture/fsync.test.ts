/**
 * A 2xx is only written after an fsync (docs/reliability.md R3), seen from outside by strace on the compiled binary.
 *
 * kill -9 cannot show this: the page cache survives it. One request at a time, so that every write to the
 * log of the mail file between two answers belongs to the second one.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { BinaryAppliance } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';

const SENDS = 1000;
/**
 * Fewest writes to the log of a commit that holds a message: two for each of the pages of messages, bodies,
 * recipients, events and their indexes. Other commits (when a key was last used) write a page or two.
 */
const MESSAGE_WRITES = 10;
const WAL_WRITE = /\bpwrite(?:64|v)\(\d+<[^>]*\/mail\.db-wal>/;
const WAL_SYNC = /\bf(?:data)?sync\(\d+<[^>]*\/mail\.db-wal>/;
const SYNC_RESUMED = /<\.\.\. f(?:data)?sync resumed>\)\s*= 0/;
const ANSWER = /\b(?:sendto|sendmsg|write|writev)\(\d+<[^>]*>,.*HTTP\/1\.1 2\d\d/;

describeWith(['strace'], 'durability before the answer', () => {
  let appliance: BinaryAppliance;
  beforeAll(async () => {
    appliance = await BinaryAppliance.start({
      config: `[delivery]\nmode = "capture"\n[[plans]]\nid = "fast"\nrate_per_second = 100000\n`,
    });
  });
  afterAll(() => appliance.stop());

  test(`${SENDS} of ${SENDS} sends: the last write to the log is synced before the 2xx`, async () => {
    await appliance.json(['account', 'create', 'fast', '--plan', 'fast']);
    const key = await appliance.json([
      'key',
      'create',
      '--account',
      'fast',
      '--name',
      'k',
      '--test',
    ]);
    const trace = join(appliance.folder, 'trace');
    const tracer = Bun.spawn(
      [
        '/usr/bin/strace',
        '-f',
        '-y',
        '-s16',
        `-o${trace}`,
        `-p${appliance.pid}`,
        '-etrace=pwrite64,pwritev,fdatasync,fsync,write,writev,sendto,sendmsg',
      ],
      { stderr: 'pipe' },
    );
    await attached(tracer.stderr);
    for (let number = 0; number < SENDS; number += 1) {
      const answer = await appliance.api(
        'POST',
        '/emails',
        { from: 'a@b.example', to: 'c@d.example', subject: `s${number}`, text: 'x' },
        { authorization: `Bearer ${String(key['token'])}` },
      );
      await answer.text();
      expect(answer.status).toBe(200);
    }
    tracer.kill('SIGINT');
    await tracer.exited;

    expect(await read(trace)).toEqual({ answers: SENDS, unsynced: 0 });
  }, 180_000);
});

/** strace says on standard error when it has taken hold of the process. */
async function attached(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  let text = '';
  while (!text.includes('attached')) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`strace ended: ${text}`);
    text += Buffer.from(value).toString();
  }
  reader.releaseLock();
}

/** Walks the trace: what had been synced at each answer. */
async function read(file: string): Promise<{ answers: number; unsynced: number }> {
  let [answers, unsynced] = [0, 0];
  let [written, syncing, synced] = [0, 0, 0];
  const lines = createInterface({ input: createReadStream(file) });
  lines.on('line', (line) => {
    if (WAL_WRITE.test(line)) {
      written += 1;
    } else if (WAL_SYNC.test(line)) {
      if (line.includes('unfinished')) syncing = written;
      else if (line.endsWith('= 0')) synced = Math.max(synced, written);
      written = 0;
    } else if (syncing > 0 && SYNC_RESUMED.test(line)) {
      synced = Math.max(synced, syncing);
      syncing = 0;
    } else if (ANSWER.test(line)) {
      answers += 1;
      if (synced < MESSAGE_WRITES) unsynced += 1;
      synced = 0;
    }
  });
  await once(lines, 'close');
  return { answers, unsynced };
}
