/** A Sender beside From: its domain must be one of the account's, verified, where it is another. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

test('of the domain of From, and of another verified one', async () => {
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  await fixture.verified(sender, 'other.example');
  for (const domain of ['acme.example', 'other.example']) {
    const mail = draft({ sender: mailbox(`robot@${domain}`) });
    expect((await fixture.accept(sender, mail)).status).toBe(200);
  }
});

test('of a domain of nobody, or of another account, is refused', async () => {
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const neighbour = await fixture.sender({ name: 'neighbour' });
  await fixture.verified(neighbour, 'neighbour.example');
  for (const domain of ['nobody.example', 'neighbour.example']) {
    const error = await refusal(
      fixture.accept(sender, draft({ sender: mailbox(`robot@${domain}`) })),
    );
    expect(error.code).toBe('from_domain_not_allowed');
    expect(error.message).toContain('Sender header');
  }
});

test('of a domain of the account that is not verified is refused, as in From', async () => {
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const pending = await fixture.verified(sender, 'pending.example');
  await fixture.ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
  const error = await refusal(
    fixture.accept(sender, draft({ sender: mailbox('robot@pending.example') })),
  );
  expect(error.code).toBe('domain_not_verified');
  expect(error.message).toContain('Sender header');
});
