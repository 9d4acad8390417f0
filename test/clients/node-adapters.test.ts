/** Adapters of frameworks that send over HTTP through the `resend` package: Strapi's provider, nodemailer's transport. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import PostalMime from 'postal-mime';

import { jsonOf, PACKAGES, programFile, runClient, startClientWorld } from './client-rig.ts';
import type { ClientWorld } from './client-rig.ts';

let world: ClientWorld;
beforeAll(async () => {
  world = await startClientWorld();
}, 30_000);
afterAll(() => world.stop());

interface Given {
  /** What a send from a domain that is not the account's was refused with. */
  refused: Record<string, unknown>;
}

async function given(program: string): Promise<Given> {
  const command = ['node', programFile(program), world.domain];
  return jsonOf(await runClient(world, command, { env: { NODE_PATH: PACKAGES } })) as Given;
}

/** What arrived with this subject, in as many copies as it has recipients. */
async function received(subject: string, copies: number) {
  const all = await world.receiver.messages.atLeast(copies, ({ bytes }) =>
    bytes.includes(`Subject: ${subject}\r\n`),
  );
  const mail = await PostalMime.parse(all[0]?.bytes ?? '');
  return { to: all.flatMap(({ to }) => to).sort(), mail };
}

const NOT_OURS = expect.stringContaining('nobody.example is not one of');

test('Strapi’s provider, with the oldest version that is in use', async () => {
  const { refused } = await given('strapi.cjs');
  expect(refused).toEqual({ statusCode: 403, message: NOT_OURS });
  const { to, mail } = await received('From Strapi', 1);
  expect(to).toEqual(['ann@example.net']);
  expect([mail.text, mail.html]).toEqual(['Hello\n', '<p>Hello</p>\n']);
});

test('nodemailer’s Resend transport', async () => {
  const { refused } = await given('nodemailer-resend.cjs');
  expect(refused).toEqual({ message: NOT_OURS });
  const { to, mail } = await received('From nodemailer', 2);
  expect(to).toEqual(['ann@example.net', 'cy@example.net']);
  expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'x-order', value: '7' }));
  expect(mail.replyTo?.[0]?.address).toBe(`r@${world.domain}`);
  expect(mail.attachments[0]?.filename).toBe('a.txt');
});
