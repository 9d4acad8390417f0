/** A halt by another node on the same database: nothing is dialled that was marked after it, and all goes on afterwards. */
import { expect, test } from 'bun:test';

import { HaltSwitch } from '../../../src/flow/halt-switch.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';

test('what is due is not begun after a halt by another node, and is delivered after its end', async () => {
  const url = await (await testServer()).freshDatabase();
  const open = () => openPostgres({ url, passwordFile: '', now: Date.now() });
  const other = await open();
  const mx = await startReceiver({ hostname: 'mx.example.com' });
  const rig = await startQueueRig({
    isStarted: false,
    store: await open(),
    delivery: { port: mx.port },
  });
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  rig.names.set('a.example', 'MX', ['10 mx.example.com']);
  const { message } = await rig.accept(['ann@a.example', 'bob@a.example']);
  const halt = new HaltSwitch({ ...rig.ctx, store: other });
  await halt.halt('Stop.');
  expect(rig.ctx.halt.state).toBeNull();
  const noticed = new Promise<void>((resolve) => rig.ctx.revision.onChange(resolve));
  await rig.queue.start();
  // The mark of the attempts compares the revision.
  await noticed;
  expect(rig.ctx.halt.state?.reason).toBe('Stop.');
  await rig.idle();
  expect(mx.connections()).toBe(0);
  expect((await rig.state(message.id)).map(({ recipient }) => recipient.attempts)).toEqual([0, 0]);
  await halt.resume();
  await rig.ctx.revision.run();
  const settled = await rig.attempted(message.id, 2);
  expect(settled.map(({ recipient }) => recipient.status)).toEqual(['delivered', 'delivered']);
  await rig.stop();
  await mx.stop();
  await other.close();
}, 120_000);
