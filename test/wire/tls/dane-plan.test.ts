/** Which TLSA records count, by what DNS says of them, and whom a certificate under a trust anchor may name. */
import { expect, test } from 'bun:test';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { DnsAnswer, TlsaRecord } from '../../../src/wire/dns/resolver.ts';
import { planDane, type DanePlan } from '../../../src/wire/tls/dane.ts';
import { planTls } from '../../../src/wire/tls/tls-policy.ts';
import { makeChains } from '../../rig/bad-certificates.ts';
import { makeAuthority, testAuthority } from '../../rig/certificates.ts';

const authority = testAuthority();
const chains = makeChains();
const root = new X509Certificate(authority.cert);
const ANCHOR: TlsaRecord = {
  usage: 2,
  selector: 0,
  matchingType: 1,
  data: createHash('sha256').update(root.raw).digest(),
};
const certificates = (pem: string): X509Certificate[] =>
  (pem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map(
    (block) => new X509Certificate(block),
  );
const NODATA = { kind: 'nodata', isAuthenticated: true } as const;

const found = <T>(records: T[], isAuthenticated = true): DnsAnswer<T> => ({
  kind: 'found',
  records,
  ttlSeconds: 60,
  isAuthenticated,
});

interface Zone {
  cname?: DnsAnswer<string>;
  tlsa?: Record<string, DnsAnswer<TlsaRecord>>;
}

/** The plan for mx.a.test, a host of a.test, and the names whose TLSA records were asked for. */
async function plan(zone: Zone, isMx = true, isHost = true): Promise<[DanePlan, string[]]> {
  const asked: string[] = [];
  const resolver = {
    cname: () => Promise.resolve(zone.cname ?? NODATA),
    tlsa: (name: string) => {
      asked.push(name);
      return Promise.resolve(zone.tlsa?.[name] ?? NODATA);
    },
  };
  const host = { name: 'mx.a.test', isAuthenticated: isHost };
  return [await planDane(resolver, host, isMx, 25, 'a.test'), asked];
}

const AT = '_25._tcp.mx.a.test';

test('validated records of a validated host of a validated MX are verified', async () => {
  const zone = { tlsa: { [AT]: found([ANCHOR]) } };
  expect((await plan(zone))[0].kind).toBe('verify');
  expect(await plan(zone, false)).toEqual([{ kind: 'none' }, []]);
  expect(await plan(zone, true, false)).toEqual([{ kind: 'none' }, []]);
});

test('records that were not validated do not count', async () => {
  expect((await plan({ tlsa: { [AT]: found([ANCHOR], false) } }))[0]).toEqual({ kind: 'none' });
});

test('a lookup that fails is not read as no records', async () => {
  const failed = { kind: 'failed', reason: 'SERVFAIL' } as const;
  expect((await plan({ tlsa: { [AT]: failed } }))[0]).toEqual(failed);
});

test('the name that a validated alias leads to comes first, then the host', async () => {
  const names = ['_25._tcp.real.test', AT];
  expect(await plan({ cname: found(['real.test']) })).toEqual([{ kind: 'none' }, names]);
  expect((await plan({ cname: found(['real.test'], false) }))[1]).toEqual([AT]);
  const both = { [AT]: found([ANCHOR]), [names[0] ?? '']: found([{ ...ANCHOR, usage: 1 }]) };
  expect((await plan({ cname: found(['real.test']), tlsa: both }))[0].kind).toBe('encrypt');
});

test.each([
  [{ usage: 0 }, 'encrypt'],
  [{ usage: 1 }, 'encrypt'],
  [{ usage: 3 }, 'verify'],
  [{ usage: 4 }, 'encrypt'],
  [{ selector: 1 }, 'verify'],
  [{ selector: 2 }, 'encrypt'],
  [{ matchingType: 2 }, 'encrypt'],
  [{ matchingType: 2, data: Buffer.alloc(64) }, 'verify'],
  [{ matchingType: 1, data: Buffer.alloc(31) }, 'encrypt'],
  [{ matchingType: 3 }, 'encrypt'],
  [{ matchingType: 0, data: Buffer.alloc(1) }, 'verify'],
  [{ matchingType: 0, data: Buffer.alloc(0) }, 'encrypt'],
] as const)('a record with %j: %s', async (change, kind) => {
  const records = [{ ...ANCHOR, ...change }];
  expect((await plan({ tlsa: { [AT]: found<TlsaRecord>(records) } }))[0].kind).toBe(kind);
});

test('under a trust anchor a certificate names the host, the alias or the domain', async () => {
  const [verify] = await plan({
    cname: found(['real.test']),
    tlsa: { '_25._tcp.real.test': found([ANCHOR]) },
  });
  if (verify.kind !== 'verify') throw new Error(verify.kind);
  const refusal = (name: string): string | null => {
    const leaf = new X509Certificate(authority.issue([name]).cert);
    return verify.checkPeer([leaf, root]);
  };
  expect(['mx.a.test', 'real.test', 'a.test'].map(refusal)).toEqual([null, null, null]);
  expect(refusal('other.test')).toBe(
    'the certificate under the TLSA trust anchor does not name real.test',
  );
  const alone = new X509Certificate(authority.issue(['mx.a.test']).cert);
  expect(verify.checkPeer([alone])).toBe('the certificate matches no TLSA record');
  expect(verify.checkPeer([])).toBe('the server sent no certificate');
});

test('a certificate that the next one did not sign leads nowhere, whatever stands behind it', async () => {
  const [verify] = await plan({ tlsa: { [AT]: found([ANCHOR]) } });
  if (verify.kind !== 'verify') throw new Error(verify.kind);
  const leafOf = (from: ReturnType<typeof testAuthority>, name: string) =>
    new X509Certificate(from.issue([name]).cert);
  const another = makeAuthority();
  const foreign = leafOf(another, 'mx.a.test');
  const no = 'the certificate matches no TLSA record';
  expect(verify.checkPeer([foreign, root])).toBe(no);
  expect(verify.checkPeer([foreign, new X509Certificate(another.cert), root])).toBe(no);
  // A leaf signs nothing, even one below the right anchor.
  expect(verify.checkPeer([foreign, leafOf(authority, 'mx.a.test'), root])).toBe(no);
  expect(verify.checkPeer([leafOf(authority, 'mx.a.test'), root])).toBeNull();
});

test.each([
  ['verified', found([ANCHOR]), { mode: 'required', verify: false, source: 'dane' }],
  [
    'encrypted',
    found([{ ...ANCHOR, usage: 1 }]),
    { mode: 'required', verify: false, source: 'dane' },
  ],
  ['nothing', NODATA, { mode: 'required', verify: true, source: 'mta-sts' }],
] as [string, DnsAnswer<TlsaRecord>, object][])(
  'what DANE asks of a host is a policy of its own: %s',
  async (what, tlsa, policy) => {
    const resolver = { cname: async () => NODATA, tlsa: async () => tlsa };
    const sts = { mode: 'enforce', mxPatterns: ['mx.a.test'], maxAgeSeconds: 60 } as const;
    const host = { name: 'mx.a.test', isAuthenticated: true };
    const planned = await planTls(
      resolver,
      { ...sts, mxPatterns: ['mx.a.test'] },
      host,
      true,
      25,
      'a.test',
    );
    const checks = what === 'verified' ? { checkPeer: expect.any(Function) as never } : {};
    expect(planned).toEqual({ kind: 'use', policy: { ...policy, ...checks } } as never);
  },
);

test('a host whose records cannot be looked up, or which the policy does not name, is avoided with the reason', async () => {
  const host = { name: 'mx.a.test', isAuthenticated: true };
  const failed = { kind: 'failed', reason: 'SERVFAIL (TLSA _25._tcp.mx.a.test)' } as const;
  const ask = (tlsa: DnsAnswer<TlsaRecord>) =>
    planTls(
      { cname: async () => NODATA, tlsa: async () => tlsa },
      { mode: 'enforce', mxPatterns: ['*.b.test'], maxAgeSeconds: 60 },
      host,
      true,
      25,
      'a.test',
    );
  expect(await ask(failed)).toEqual({
    kind: 'avoid',
    source: 'dane',
    reason: 'TLSA of mx.a.test: SERVFAIL (TLSA _25._tcp.mx.a.test)',
  });
  expect(await ask(NODATA)).toEqual({
    kind: 'avoid',
    source: 'mta-sts',
    reason: 'mx.a.test is not in the MTA-STS policy of a.test',
  });
});

test('who stands between the leaf and the anchor is an authority, and in date', async () => {
  const { bad, root: top, goodWithIntermediate } = chains;
  const anchor = new X509Certificate(top);
  const data = createHash('sha256').update(anchor.raw).digest();
  const [verify] = await plan({ tlsa: { [AT]: found([{ ...ANCHOR, data }]) } });
  if (verify.kind !== 'verify') throw new Error(verify.kind);
  const refusal = ({ cert }: { cert: string }) => verify.checkPeer([...certificates(cert), anchor]);
  const no = 'the certificate matches no TLSA record';
  expect(refusal(goodWithIntermediate)).toBeNull();
  expect(refusal(bad['signed by a leaf'])).toBe(no);
  expect(refusal(bad['expired intermediate'])).toBe(no);
  expect(refusal(bad['missing intermediate'])).toBe(no);
  expect(refusal(bad.expired)).toBe(no);
  expect(refusal(bad['not yet valid'])).toBe(no);
});

test('an anchor that the record holds whole and the server does not send is an authority, and in date', async () => {
  const { bad, goodWithIntermediate } = chains;
  /** What becomes of the leaf alone, where the certificate that signed it stands in DNS. */
  const verdict = async ({ cert }: { cert: string }, selector = 0): Promise<string | null> => {
    const [leaf, issuer] = certificates(cert);
    if (leaf === undefined || issuer === undefined) throw new Error('no chain');
    const record = { usage: 2, selector, matchingType: 0, data: issuer.raw };
    const [verify] = await plan({ tlsa: { [AT]: found([record]) } });
    if (verify.kind !== 'verify') throw new Error(verify.kind);
    return verify.checkPeer([leaf]);
  };
  const no = 'the certificate matches no TLSA record';
  expect(await verdict(goodWithIntermediate)).toBeNull();
  expect(await verdict(bad['expired intermediate'])).toBe(no);
  expect(await verdict(bad['signed by a leaf'])).toBe(no);
  // A record that promises a key holds none here.
  expect(await verdict(goodWithIntermediate, 1)).toBe(no);
});

/** A trust anchor in DER, with a key of the kind that `newKey` says. */
function anchorWith(newKey: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'dane-'));
  const extension = '-addext basicConstraints=critical,CA:TRUE';
  const command = `openssl req -x509 -newkey ${newKey} -nodes -subj /CN=A ${extension} -keyout key -outform DER -out cert`;
  const made = Bun.spawnSync(command.split(' '), { cwd: folder });
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  const der = readFileSync(join(folder, 'cert'));
  rmSync(folder, { recursive: true });
  return der;
}

test.each<[string, () => Buffer]>([
  ['with a key that signs otherwise', () => anchorWith('rsa:2048')],
  ['with a key that it cannot read', () => anchorWith('rsa-pss -pkeyopt rsa_keygen_bits:2048')],
  ['that is no certificate', () => Buffer.from('no certificate')],
])('an anchor %s matches nothing, and leaves it to the other records', async (_, make) => {
  const whole = { usage: 2, selector: 0, matchingType: 0 };
  const odd = { ...whole, data: make() };
  const leaf = new X509Certificate(authority.issue(['mx.a.test']).cert);
  const verdict = async (...records: TlsaRecord[]): Promise<string | null> => {
    const [verify] = await plan({ tlsa: { [AT]: found(records) } });
    if (verify.kind !== 'verify') throw new Error(verify.kind);
    return verify.checkPeer([leaf]);
  };
  expect(await verdict(odd)).toBe('the certificate matches no TLSA record');
  expect(await verdict(odd, { ...whole, data: root.raw })).toBeNull();
});
