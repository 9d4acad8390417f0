/** What acceptance keeps of a message's header for its webhook calls, beside the content that goes earlier. */
import { afterEach, expect, test } from 'bun:test';

import { draft, openFixture, type Fixture } from '../fixture.ts';

const HEADERS: [string, string][] = [
  ['X-Tags', '["welcome"]'],
  ['X-Order', '7'],
];

let fixture: Fixture;
afterEach(() => fixture.close());

async function kept(bodies: string): Promise<[string, string][]> {
  fixture = await openFixture({ toml: `[retention]\nbodies = "${bodies}"\n` });
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const acceptance = await fixture.accept(sender, draft({ headers: HEADERS }));
  const { message } = await fixture.stored(acceptance);
  await fixture.ctx.store.purgeBodies(Number.MAX_SAFE_INTEGER);
  return (await fixture.ctx.store.messageById(message.id))?.eventHeaders ?? [];
}

test('the tags and metadata of a client library are kept with the message', async () => {
  expect(await kept('3d')).toEqual([['X-Tags', '["welcome"]']]);
});

test('with bodies = "0" nothing of the header is kept', async () => {
  expect(await kept('0')).toEqual([]);
});
