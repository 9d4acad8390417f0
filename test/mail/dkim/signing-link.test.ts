/** The link to a signing thread that has ended: whoever comes then signs by its own way, and none waits for ever. */
import { expect, test } from 'bun:test';

import { SigningLink, startSigningWorker } from '../../../src/mail/dkim/signing-link.ts';
import type { SignTask } from '../../../src/mail/dkim/signing-link.ts';

const OWN = { own: true } as never;

test('what waits as the thread is ended, and what comes after, is signed by its own way', async () => {
  const deaths: [string, number][] = [];
  const link = new SigningLink(startSigningWorker(), (cause, left) => deaths.push([cause, left]));
  const task = {
    signerId: 1,
    identity: { domain: 'a.example', selector: 's', privateKeyPem: '' },
    content: {},
    bySelf: () => Promise.resolve(OWN),
  } as unknown as SignTask;
  const waiting = link.sign(task);
  link.stop();
  expect(await waiting).toBe(OWN);
  expect(await link.sign(task)).toBe(OWN);
  expect(link.isUsable).toBe(false);
  // An end that was asked for is no death to be told.
  expect(deaths).toEqual([]);
});
