/**
 * Ten logins with one revoked key kept every application of the same address out of submission for 15 minutes. Wrong
 * logins slow wrong logins only.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createKey, revokeKey } from '../../src/flow/accounts/keys.ts';
import { openSmtpFixture, type SmtpFixture } from '../smtp/fixture.ts';
import { RawClient } from '../smtp/raw-client.ts';

let fixture: SmtpFixture;

beforeAll(async () => {
  fixture = await openSmtpFixture();
});

afterAll(() => fixture.close());

/** The reply to a login from the one address that all clients here have. */
async function login(token: string): Promise<string> {
  const client = await RawClient.open(fixture.submission);
  await client.hello(true);
  const reply = await client.login(token);
  client.close();
  return reply;
}

test('a client with a revoked key, however often it comes, locks out no other one of its address', async () => {
  const input = { name: 'old', permission: 'sending_access' } as const;
  const { key, token } = await createKey(fixture.ctx, fixture.by.account.id, input);
  await revokeKey(fixture.ctx, fixture.by.account.id, key.id);
  for (let n = 0; n < 30; n += 1) {
    expect(await login(token)).toStartWith(n < 10 ? '535 5.7.8' : '421 4.7.0');
    if (n % 5 === 4) expect(await login(fixture.token)).toStartWith('235');
  }
});
