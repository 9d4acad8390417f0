/** What the host check says of the resolver, to the letter: each answer that it can give to the four names. */
import { expect, spyOn, test } from 'bun:test';

import type { DoctorContext } from '../../src/health/finding.ts';
import { describe as wordsOf, examineResolver } from '../../src/health/resolver.ts';
import type { DnsAnswer } from '../../src/wire/dns/resolver.ts';
import * as resolvConf from '../../src/wire/dns/resolv-conf.ts';

type Answer = DnsAnswer<string>;

const found = (isAuthenticated: boolean): Answer =>
  ({ kind: 'found', records: ['192.0.2.1'], isAuthenticated }) as Answer;
const failed = { kind: 'failed', reason: 'no answer in time' } as Answer;
const none = { kind: 'nxdomain' } as Answer;

/** Of a resolver on this machine that does all that it should. */
const WELL: Readonly<Record<string, Answer>> = {
  'mx gmail.com': found(false),
  'a ietf.org': found(true),
  'a dnssec-failed.org': failed,
  'a postrider-doctor.invalid': none,
};

function examined(changes: Record<string, Answer>, servers = ['127.0.0.1']) {
  const answer = (question: string): Promise<Answer> => {
    const known = { ...WELL, ...changes }[question];
    return known === undefined ? Promise.reject(new Error(question)) : Promise.resolve(known);
  };
  return examineResolver({
    config: { startup: { dns: { servers: servers.map((host) => ({ host, port: 53 })) } } },
    resolver: {
      mx: (name: string) => answer(`mx ${name}`),
      a: (name: string) => answer(`a ${name}`),
    },
  } as unknown as DoctorContext);
}

const ANSWERS = {
  check: 'resolver',
  level: 'ok',
  summary: 'The resolver answers for names of the internet.',
  advice: null,
};
const VALIDATES = {
  check: 'dnssec',
  level: 'ok',
  summary: 'The resolver on this machine validates DNSSEC, so DANE is used.',
  advice: null,
};
const NOT_MARKED = {
  check: 'dnssec',
  level: 'warning',
  summary: 'The resolver does not mark signed names as validated.',
  advice:
    'Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"]. DANE (RFC 7672) needs a validating resolver, and all resolvers on loopback.',
};
const NOT_CHECKED = {
  check: 'dnssec',
  level: 'warning',
  summary: 'The resolver does not validate DNSSEC.',
  advice:
    'Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"] without any other. Mail is delivered until then, but without DANE (RFC 7672): a validated answer counts only when all resolvers are on loopback.',
};
const remote = (hosts: string) => ({
  check: 'dnssec',
  level: 'warning',
  summary: `Not every resolver in use is on this machine (${hosts}), so DNSSEC is not used.`,
  advice:
    'Install unbound on this machine, set [dns] servers = ["127.0.0.1:53"] without any other, and restart. Mail is delivered until then, but without DANE (RFC 7672): anyone between this machine and a resolver can forge the flag of a validated answer (AD), so it counts only when all resolvers are on loopback.',
});

test('a resolver that validates is well, and one that does not is told what it lacks', async () => {
  expect(await examined({})).toEqual({
    findings: [ANSWERS, VALIDATES],
    isResolving: true,
  } as never);
  for (const [changes, finding] of [
    [{ 'a ietf.org': found(false) }, NOT_MARKED],
    [{ 'a ietf.org': failed }, NOT_MARKED],
    [{ 'a dnssec-failed.org': none }, NOT_MARKED],
    [{ 'a dnssec-failed.org': found(false) }, NOT_CHECKED],
    [{ 'a dnssec-failed.org': found(true), 'a ietf.org': found(false) }, NOT_CHECKED],
  ] as [Record<string, Answer>, object][]) {
    expect((await examined(changes)).findings).toEqual([ANSWERS, finding] as never);
  }
});

test('of resolvers elsewhere those are named, whatever they say of signed names', async () => {
  const servers = ['127.0.0.1', '192.0.2.53', '::1', '2001:db8::53'];
  const marked = { 'a ietf.org': found(false) };
  expect((await examined(marked, servers)).findings).toEqual([
    ANSWERS,
    remote('192.0.2.53, 2001:db8::53'),
  ] as never);
  const checked = { 'a dnssec-failed.org': found(false) };
  expect((await examined(checked, ['192.0.2.53'])).findings[1]).toEqual(
    remote('192.0.2.53') as never,
  );
  expect((await examined({}, ['::1', '127.0.0.53'])).findings[1]).toEqual(VALIDATES as never);
});

test('where the config names none, those of the machine count', async () => {
  const read = spyOn(resolvConf, 'readResolvConf').mockReturnValue([
    { host: '192.0.2.54', port: 53 },
  ] as never);
  const marked = { 'a ietf.org': found(false) };
  expect((await examined(marked, [])).findings[1]).toEqual(remote('192.0.2.54') as never);
  expect((await examined(marked)).findings[1]).toEqual(NOT_MARKED as never);
  read.mockRestore();
});

test('a resolver that answers for a name that cannot exist invents answers', async () => {
  const { findings, isResolving } = await examined({ 'a postrider-doctor.invalid': found(false) });
  expect(isResolving).toBe(true);
  expect(findings).toEqual([
    ANSWERS,
    {
      check: 'resolver_honesty',
      level: 'error',
      summary: 'The resolver answers for a name that cannot exist.',
      advice:
        'Set [dns] servers to another resolver, or install unbound on this machine. This one invents answers, so that mail to a mistyped domain is delivered to somebody else.',
    },
    VALIDATES,
  ] as never);
  expect((await examined({ 'a postrider-doctor.invalid': failed })).findings).toHaveLength(2);
});

test.each([
  [none, 'the name does not exist'],
  [{ kind: 'nodata' } as Answer, 'there is no such record'],
  [failed, 'no answer in time'],
])('without the best-known receiver nothing else is said: %j', async (answer, words) => {
  const lost = { 'mx gmail.com': answer, 'a postrider-doctor.invalid': found(false) };
  expect(await examined(lost)).toEqual({
    isResolving: false,
    findings: [
      {
        check: 'resolver',
        level: 'unchecked',
        summary: `The MX records of gmail.com could not be looked up: ${words}.`,
        advice:
          'Set [dns] servers to a resolver that works, or install unbound on this machine. Without DNS, no mail can leave to the internet. On a network without internet this is expected.',
      },
    ],
  });
  expect(wordsOf(answer)).toBe(words);
});
