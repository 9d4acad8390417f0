/** An address at sandbox.test that simulates nothing is refused in whatever field it stands: it must not go out as mail. */
import { expect, test } from 'bun:test';

import { SIMULATIONS } from '../../../src/flow/accept/sandbox.ts';
import { draft, mailbox, openFixture, refusal } from '../fixture.ts';

const ANN = mailbox('ann@receiver.example');
const WRONG = mailbox('Bouncd@sandbox.test');

test.each([
  ['to', { to: [ANN, WRONG] }],
  ['cc', { to: [ANN], cc: [WRONG] }],
  ['bcc', { to: [ANN], bcc: [WRONG] }],
  ['cc without to', { to: [], cc: [WRONG] }],
  ['bcc without to', { to: [], bcc: [WRONG] }],
])('in %s, with any key', async (_, fields) => {
  const fixture = await openFixture();
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  for (const by of [sender, await fixture.sender({ isTest: true })]) {
    const error = await refusal(fixture.accept(by, draft(fields)));
    expect({ code: error.code, message: error.message }).toEqual({
      code: 'validation_failed',
      message: `Bouncd@sandbox.test is not simulated; sandbox.test has: ${SIMULATIONS.join(', ')}.`,
    });
  }
  expect(fixture.sink.messages).toEqual([]);
  await fixture.close();
});
