/** The page behind a mail's List-Unsubscribe link, as mail clients, people and scanners use it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createUnsubscribe } from '../../src/api/unsubscribe.ts';
import type { Sender } from '../../src/flow/draft.ts';
import { unsubscribeUrl } from '../../src/flow/suppressions/unsubscribe.ts';
import { draft, mailbox, openFixture, type Fixture } from '../flow/fixture.ts';

let fixture: Fixture;
let sender: Sender;
let respond: ReturnType<typeof createUnsubscribe>;

beforeAll(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  respond = createUnsubscribe(fixture.ctx);
});
afterAll(() => fixture.close());

async function linkFor(email: string): Promise<string> {
  const stored = await fixture.stored(
    await fixture.accept(sender, draft({ to: [mailbox(email)] })),
  );
  return unsubscribeUrl(fixture.ctx, stored.recipients[0]?.id ?? '');
}

const reasonOf = async (email: string) =>
  (await fixture.ctx.store.suppression(sender.account.id, email))?.reason ?? null;

test("a mail client's POST unsubscribes at once (RFC 8058, section 3.2)", async () => {
  const link = await linkFor('ann@receiver.example');
  const response = await respond(
    new Request(link, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    }),
  );
  expect(response?.status).toBe(200);
  expect(await reasonOf('ann@receiver.example')).toBe('unsubscribe');
});

test('GET and HEAD of a scanner do not; a person sees the address and a button', async () => {
  const link = await linkFor('ben&co@receiver.example');
  for (const method of ['GET', 'HEAD'])
    expect((await respond(new Request(link, { method })))?.status).toBe(200);
  expect(await reasonOf('ben&co@receiver.example')).toBeNull();
  const response = await respond(new Request(link));
  const html = (await response?.text()) ?? '';
  expect(html).toContain('ben&#38;co@receiver.example');
  expect(html).toContain('<form method="post">');
  expect(response?.headers.get('cache-control')).toBe('no-store');
  expect(response?.headers.get('content-security-policy')).toContain("default-src 'none'");
});

test('an address that looks like HTML stands on the page as text', async () => {
  // A quoted local part may hold nearly anything (RFC 5321 section 4.1.2).
  const link = await linkFor(`"<script>'&'</script>"@receiver.example`);
  const html = (await (await respond(new Request(link)))?.text()) ?? '';
  expect(html).toContain(
    '<strong>&#34;&#60;script&#62;&#39;&#38;&#39;&#60;/script&#62;&#34;@receiver.example</strong>',
  );
  expect(html).not.toContain('<script');
});

test('a link that is not ours is unknown, with any method', async () => {
  const link = (await linkFor('cy@receiver.example')).replace(/.(?=.{10}$)/, (letter) =>
    letter === 'A' ? 'B' : 'A',
  );
  for (const method of ['GET', 'POST'])
    expect((await respond(new Request(link, { method })))?.status).toBe(404);
  const refused = await respond(new Request(link, { method: 'DELETE' }));
  expect([refused?.status, refused?.headers.get('allow')]).toEqual([405, 'GET, POST']);
  // Nothing of these pages is kept, indexed, framed or told to others.
  expect(Object.fromEntries(refused?.headers ?? [])).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  });
});

test('other paths are not handled here', () => {
  for (const path of [
    '/',
    '/unsubscribe',
    '/unsubscribe/',
    '/unsubscribe/a/b',
    '/v1/unsubscribe/x',
    '/emails',
  ]) {
    expect(respond(new Request(`http://127.0.0.1${path}`))).toBeNull();
  }
});

/** The whole page. */
const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1.1em/1.5 system-ui;max-width:30em;margin:15vh auto;padding:0 1em}button{font:inherit;padding:.5em 1.5em}</style>
<h1>${title}</h1>${body}</html>`;

test('each page is whole, with the same headers', async () => {
  const link = await linkFor('dee@receiver.example');
  const form = '<form method="post"><button type="submit">Unsubscribe</button></form>';
  const question = page(
    'Unsubscribe',
    `<p>Stop these emails to <strong>dee@receiver.example</strong>?</p>${form}`,
  );
  const done = page('You are unsubscribed', '<p>You will no longer receive these emails.</p>');
  const wrong = page('Method not allowed', '<p>This link accepts GET and POST.</p>');
  const unknown = page('Unknown link', '<p>This link is incomplete or has expired.</p>');
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'content-security-policy':
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  };
  const long = (length: number): string => `http://127.0.0.1/unsubscribe/${'x'.repeat(length)}`;
  for (const [method, url, status, text, more] of [
    ['GET', link, 200, question, {}],
    ['HEAD', `${link}?from=a`, 200, question, {}],
    ['PUT', link, 405, wrong, { allow: 'GET, POST' }],
    ['DELETE', long(1), 405, wrong, { allow: 'GET, POST' }],
    ['GET', long(1), 404, unknown, {}],
    ['POST', long(100), 404, unknown, {}],
    ['POST', link, 200, done, {}],
    ['POST', link, 200, done, {}],
    ['GET', link, 200, question, {}],
  ] as const) {
    const response = await respond(new Request(url, { method }));
    expect([method, response?.status, await response?.text()]).toEqual([method, status, text]);
    expect(Object.fromEntries(response?.headers ?? [])).toEqual({ ...headers, ...more });
  }
  expect(respond(new Request(long(101)))).toBeNull();
});
