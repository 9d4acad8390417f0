/** An account's events carry a webhook body from before its first endpoint is written, also after a restart. */
import { expect, test } from 'bun:test';

import type { Context } from '../../src/flow/context.ts';
import { Subscribers } from '../../src/flow/subscribers.ts';
import { addEndpoint } from '../../src/flow/webhooks/endpoints.ts';
import { openFixture } from './fixture.ts';
import { found } from './webhooks/webhook-rig.ts';

test('an account may have endpoints from before one is written, and after a restart', async () => {
  const fixture = await openFixture();
  const { store } = fixture.ctx;
  const { account } = await fixture.sender();
  const { account: other } = await fixture.sender({ name: 'other' });
  const atWrite: boolean[] = [];
  const ctx: Context = {
    ...fixture.ctx,
    resolver: { ...fixture.ctx.resolver, a: async () => found('192.0.43.8') },
    store: {
      ...store,
      createEndpoint(endpoint, most) {
        atWrite.push(ctx.subscribers.mayHave(account.id));
        return store.createEndpoint(endpoint, most);
      },
    },
  };
  expect(ctx.subscribers.mayHave(account.id)).toBe(false);
  await addEndpoint(ctx, account.id, { url: 'https://hook.example/', events: [] });
  expect(atWrite).toEqual([true]);
  const restarted = await Subscribers.read(store, false);
  expect([account, other].map(({ id }) => restarted.mayHave(id))).toEqual([true, false]);
  // Where other nodes make endpoints, nobody can know.
  const shared = await Subscribers.read(store, true);
  expect([account, other].map(({ id }) => shared.mayHave(id))).toEqual([true, true]);
  await fixture.close();
});
