/** A server that is being drained takes nothing more. */
import { expect, test } from 'bun:test';

import { draft, openFixture, refusal } from '../fixture.ts';

test('a send is refused: another server takes it in a second', async () => {
  const fixture = await openFixture();
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const waiting = async (): Promise<number> =>
    (await fixture.ctx.store.queueCounts(null, 9)).largest.length;
  const node = { isDraining: true };
  Object.assign(fixture.ctx, { node });
  const error = await refusal(fixture.accept(sender, draft()));
  expect([error.code, error.status, error.message, error.headers]).toEqual([
    'platform_halted',
    503,
    'This server is being drained: another one takes mail.',
    { 'Retry-After': '1' },
  ]);
  expect(await waiting()).toBe(0);
  node.isDraining = false;
  await fixture.accept(sender, draft());
  expect(await waiting()).toBe(1);
  await fixture.close();
});
