/**
 * Messages a second, CPU and memory, from submission to a counting receiver, beside Postfix with OpenDKIM.
 *
 * `scripts/bench deliver [--runs 3] [--messages 20000] [--only postrider|postfix] [--binary dist/postrider]`. 5 KB messages (html and
 * text), one recipient each over 20 domains, 20 connections, RSA-2048. Contenders run alternately; OpenSSL's
 * own rate is measured around each run, because only ratios within a run mean anything. Prints each run
 * and the medians; ends with 1 when a message is missing or unsigned. Needs dist/postrider.
 */
import { join } from 'node:path';
import {
  freePort,
  measure,
  medians,
  show,
  startReceiver,
  startReceiverNames,
} from './bench-load.ts';
import type { Result } from './bench-load.ts';
import { startPostfix } from './bench-postfix.ts';
import { startPostrider } from './bench-postrider.ts';
import { scriptOptions } from './options.ts';

async function main(): Promise<void> {
  const { values } = scriptOptions({
    options: {
      runs: { type: 'string', default: '3' },
      messages: { type: 'string', default: '20000' },
      only: { type: 'string', default: '' },
      binary: { type: 'string', default: join(import.meta.dir, '../dist/postrider') },
    },
  });
  const count = Number(values.messages);
  const names = await startReceiverNames();
  const port = await freePort();
  const all: Result[] = [];
  for (let run = 0; run < Number(values.runs); run += 1) {
    for (const name of ['postrider', 'postfix']) {
      if (values.only !== '' && values.only !== name) continue;
      const receiver = await startReceiver(port);
      try {
        const contender =
          name === 'postrider'
            ? await startPostrider(names, port, values.binary)
            : await startPostfix({ receiver: port, smtp: await freePort() });
        try {
          const result = await measure(contender, receiver, { count });
          show([result]);
          all.push(result);
        } finally {
          await contender.stop();
        }
      } finally {
        receiver.stop();
      }
    }
  }
  await names.stop();
  process.stdout.write('medians\n');
  const byName = Map.groupBy(all, (r) => r.contender);
  const middle = [...byName.values()].map(medians);
  show(middle);
  const [ours, peer] = [middle[0], middle[1]];
  if (ours !== undefined && peer !== undefined) {
    const times = ours.deliveredPerSecond / peer.deliveredPerSecond;
    process.stdout.write(`delivered: ${times.toFixed(1)} x ${peer.contender}\n`);
  }
}

await main();
process.exit(0);
