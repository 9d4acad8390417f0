/** TLS 1.2 is the oldest that a listener speaks, however TLS begins, and also with a certificate of a reload. */
import { afterEach, expect, test } from 'bun:test';

import type { Listen } from '../../src/base/config.ts';
import { testAuthority } from '../rig/certificates.ts';
import { describeWith } from '../rig/programs.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';

let fixture: SmtpFixture | null = null;
afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

/** What openssl says of a handshake at `to`. The server runs in this process, so the client must not block it. */
async function shake({ port }: Listen, ...options: string[]): Promise<string> {
  const client = Bun.spawn(['openssl', 's_client', '-connect', `127.0.0.1:${port}`, ...options], {
    stdin: new Blob(['QUIT\r\n']),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const said = await Promise.all([
    new Response(client.stdout).text(),
    new Response(client.stderr).text(),
  ]);
  await client.exited;
  const told = said.join('\n');
  return told.includes('alert protocol version')
    ? 'refused'
    : (/^(?:New|Reused), (TLSv1\.\d), Cipher is (?!\(NONE\))/m.exec(told)?.[1] ?? told);
}

describeWith(['openssl'], 'a handshake', () => {
  test('of TLS 1.1 is refused and of TLS 1.2 is not, at each listener, before and after a reload', async () => {
    fixture = await openSmtpFixture();
    const { server, inboundServer, submission, submissions, inbound, ctx } = fixture;
    const starttls = ['-starttls', 'smtp'];
    const kinds: [Listen, string[]][] = [
      [submission, starttls],
      [inbound, starttls],
      [submissions, []],
    ];
    const old = ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'];
    const all = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const [at, way] of kinds) {
        for (const version of [old, ['-tls1_2']]) {
          found.push(await shake(at, ...way, ...version));
        }
      }
      return found;
    };
    const expected = kinds.flatMap(() => ['refused', 'TLSv1.2']);
    expect(await all()).toEqual(expected);
    const next = testAuthority().issue(['mail.appliance.example']);
    const { config } = ctx;
    const smtp = { ...config.live.smtp, tlsCert: next.certFile, tlsKey: next.keyFile };
    const changed = { ...config, live: { ...config.live, smtp } };
    expect([server.prepare(changed)(), inboundServer.prepare(changed)()]).toEqual([true, true]);
    expect(await all()).toEqual(expected);
  }, 60_000);
});
