/** The form of a download link, and exactly which links are valid. */
import { expect, test } from 'bun:test';

import { attachmentId, isLinkValid, linkTo } from '../../../src/api/routes/download-link.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import { TestClock } from '../../rig/clock.ts';

const EMAIL = '01913c7e-89ab-7cde-8f01-23456789abcd';
const HOUR = 3_600_000;

function made(publicUrl: string, clock = new TestClock()) {
  const secrets = new SecretBox(Buffer.alloc(32, 7));
  const config = { live: { http: { publicUrl } } } as never;
  return { clock, secrets, ctx: { config, clock, secrets } };
}

test.each([
  [0, '0000'],
  [1, '0001'],
  [15, '000f'],
  [16, '0010'],
  [0xffff, 'ffff'],
])('the id of attachment %d ends in %s', (index, end) => {
  expect(attachmentId(EMAIL, index)).toBe(`01913c7e-89ab-7cde-8f01-23456789${end}`);
});

test.each(['https://mail.example', 'https://mail.example/', 'https://mail.example///'])(
  'a link stands below %s',
  (publicUrl) => {
    const { ctx, clock, secrets } = made(publicUrl);
    const expires = clock.steady() + HOUR;
    const id = attachmentId(EMAIL, 3);
    const signature = secrets.mac('attachment link', `${id} ${expires}`).toString('base64url');
    expect(linkTo(ctx, EMAIL, 3)).toEqual({
      url: `https://mail.example/v1/emails/${EMAIL}/attachments/${id}/content?expires=${expires}&signature=${signature}`,
      expiresAt: expires,
    });
  },
);

test('a path of the public address stays', () => {
  const { ctx } = made('https://mail.example/below/');
  expect(linkTo(ctx, EMAIL, 0).url).toStartWith('https://mail.example/below/v1/emails/');
});

test('a link is valid until its last millisecond, for its own id and expiry, whole', () => {
  const { ctx, clock, secrets } = made('https://mail.example');
  const { url } = linkTo(ctx, EMAIL, 3);
  const query = new URL(url).searchParams;
  const [expires, signature] = [query.get('expires') ?? '', query.get('signature') ?? ''];
  const id = attachmentId(EMAIL, 3);
  const isValid = (change: { id?: string; expires?: string; signature?: string } = {}): boolean =>
    isLinkValid(ctx, change.id ?? id, change.expires ?? expires, change.signature ?? signature);
  expect(isValid()).toBe(true);
  for (const wrong of [
    { id: attachmentId(EMAIL, 2) },
    { expires: String(Number(expires) + 1) },
    { signature: '' },
    { signature: signature.slice(0, -4) },
    { signature: `${signature}AAAA` },
    { signature: secrets.mac('another', `${id} ${expires}`).toString('base64url') },
  ]) {
    expect([wrong, isValid(wrong)]).toEqual([wrong, false]);
  }
  clock.pass(HOUR - 1);
  expect(isValid()).toBe(true);
  clock.pass(1);
  expect(isValid()).toBe(false);
  // A signed text that is no time never counts.
  const forged = secrets.mac('attachment link', `${id} never`).toString('base64url');
  expect(isValid({ expires: 'never', signature: forged })).toBe(false);
});
