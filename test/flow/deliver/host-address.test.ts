/** Which sessions may stand for each other, and which addresses may be dialled without TLS. */
import { expect, test } from 'bun:test';
import { addressesOf, dialOf } from '../../../src/flow/deliver/host-address.ts';
import { ExtraTrust } from '../../../src/wire/smtp/tls.ts';
import {
  BrokenTls,
  policyOf,
  policyOfDomain,
  type TlsPolicy,
} from '../../../src/flow/deliver/tls-policy.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { SessionOptions } from '../../../src/wire/smtp/client.ts';
import { TestClock } from '../../rig/clock.ts';

const OPTIONS: SessionOptions = {
  address: '192.0.2.1',
  port: 25,
  localAddress: null,
  heloName: 'mail.rig.test',
  serverName: 'mx.rig.test',
  tls: { mode: 'opportunistic', verify: false },
  auth: null,
  deadlines: PRODUCTION_DEADLINES,
};
const check = () => null;
const checked: SessionOptions = { ...OPTIONS, tls: { ...OPTIONS.tls, checkPeer: check } };
const verified: SessionOptions = { ...OPTIONS, tls: { mode: 'required', verify: true } };

test.each([
  ['another address', OPTIONS, { address: '192.0.2.2' }],
  ['another port', OPTIONS, { port: 2525 }],
  ['another source address', OPTIONS, { localAddress: '192.0.2.9' }],
  ['TLS that is required', OPTIONS, { tls: { mode: 'required', verify: false } }],
  ['a verified certificate', OPTIONS, { tls: { mode: 'opportunistic', verify: true } }],
  ['a login', OPTIONS, { auth: { username: 'u', password: 'p' } }],
  [
    'another user',
    { ...OPTIONS, auth: { username: 'u', password: 'p' } },
    { auth: { username: 'v', password: 'p' } },
  ],
  [
    'a certificate that is verified beside its check',
    checked,
    { tls: { ...checked.tls, verify: true } },
  ],
  ['another name of a verified host', verified, { serverName: 'other.rig.test' }],
  ['another name of a host under DANE', checked, { serverName: 'other.rig.test' }],
] as [string, SessionOptions, Partial<SessionOptions>][])(
  'a session does not serve for %s',
  (_words, options, change) => {
    expect(dialOf({ ...options, ...change }).key).not.toBe(dialOf(options).key);
  },
);

test('without a check the name of the host does not matter, and a password tells logins apart', () => {
  expect(dialOf({ ...OPTIONS, serverName: 'other.rig.test' }).key).toBe(dialOf(OPTIONS).key);
  const login = (password: string) => dialOf({ ...OPTIONS, auth: { username: 'u', password } }).key;
  expect(login('one')).not.toBe(login('two'));
});

test('only opportunistic TLS without a login may be left out', () => {
  const settings = {
    heloName: 'mail.rig.test',
    deadlines: PRODUCTION_DEADLINES,
    trust: undefined,
    signal: new AbortController().signal,
  };
  const plainOf = (mode: TlsPolicy['mode'], auth: SessionOptions['auth']) => {
    const tls: TlsPolicy = { name: 'none', mode, verify: false, checkPeer: null };
    const targets = [{ address: '192.0.2.1', from: '192.0.2.9' }];
    const host = { name: 'mx.rig.test', preference: 10, targets, tls };
    return addressesOf([host], { port: 25, auth }, settings)[0]?.plain ?? null;
  };
  expect(plainOf('opportunistic', null)?.options).toMatchObject({
    localAddress: '192.0.2.9',
    serverName: 'mx.rig.test',
    tls: { mode: 'none' },
  });
  expect(plainOf('opportunistic', { username: 'u', password: 'p' })).toBeNull();
  for (const mode of ['none', 'required', 'implicit'] as const)
    expect(plainOf(mode, null)).toBeNull();
});

test.each([
  ['none', 465, 'none', 'none', false],
  ['opportunistic', 25, 'opportunistic', 'opportunistic', false],
  ['opportunistic', 465, 'opportunistic', 'implicit', false],
  ['required', 587, 'required', 'required', true],
  ['required', 465, 'required', 'implicit', true],
  ['required', 2465, 'required', 'implicit', true],
  ['required', 2587, 'required', 'required', true],
] as const)(
  'a route with tls = %s at port %p: %s, %s, verified %p',
  (tls, port, name, mode, verify) => {
    const target = { host: 'relay.example', username: '', password: '' };
    expect(policyOf({ ...target, tls, port })).toEqual({ name, mode, verify, checkPeer: null });
  },
);

test('broken TLS is remembered for an hour, of that host alone', () => {
  const clock = new TestClock();
  const broken = new BrokenTls(clock);
  broken.note('mx.rig.test');
  clock.jump(86_400_000);
  clock.pass(3_600_000 - 1);
  expect([broken.has('mx.rig.test'), broken.has('other.rig.test')]).toEqual([true, false]);
  clock.pass(1);
  expect(broken.has('mx.rig.test')).toBe(false);
});

test('ten thousand hosts with broken TLS are remembered; with one more it begins anew', () => {
  const broken = new BrokenTls(new TestClock());
  for (let host = 0; host < 10_000; host += 1) broken.note(`mx${host}.rig.test`);
  expect([broken.has('mx0.rig.test'), broken.has('mx9999.rig.test')]).toEqual([true, true]);
  broken.note('last.rig.test');
  expect([broken.has('mx0.rig.test'), broken.has('last.rig.test')]).toEqual([false, true]);
});

test('each address of each host after the other, with all that its sessions need', () => {
  const settings = {
    heloName: 'mail.rig.test',
    deadlines: { ...PRODUCTION_DEADLINES, connect: 7 },
    trust: new ExtraTrust([]),
    signal: new AbortController().signal,
  };
  const auth = { username: 'u', password: 'p' };
  const dane: TlsPolicy = { name: 'dane', mode: 'required', verify: false, checkPeer: check };
  const one = { name: 'one.example', preference: 10, tls: dane };
  const two = { name: 'two.example', preference: 20, tls: { ...dane, checkPeer: null } };
  const hosts = [
    {
      ...one,
      targets: [
        { address: '192.0.2.1', from: '192.0.2.9' },
        { address: '2001:db8::1', from: null },
      ],
    },
    { ...two, targets: [{ address: '192.0.2.2', from: null }] },
  ];
  const made = addressesOf(hosts, { port: 587, auth }, settings);
  const tls = { mode: 'required', verify: false, trust: settings.trust };
  const { trust: _, ...common } = settings;
  expect(made.map(({ dial }) => dial.options)).toEqual([
    {
      ...common,
      address: '192.0.2.1',
      port: 587,
      localAddress: '192.0.2.9',
      serverName: 'one.example',
      tls: { ...tls, checkPeer: check },
      auth,
    },
    {
      ...common,
      address: '2001:db8::1',
      port: 587,
      localAddress: null,
      serverName: 'one.example',
      tls: { ...tls, checkPeer: check },
      auth,
    },
    {
      ...common,
      address: '192.0.2.2',
      port: 587,
      localAddress: null,
      serverName: 'two.example',
      tls,
      auth,
    },
  ] as SessionOptions[]);
  expect(made.map(({ dial, host, target }) => [dial.peer, host, target])).toEqual([
    ['192.0.2.1 587', hosts[0], hosts[0]?.targets[0]],
    ['2001:db8::1 587', hosts[0], hosts[0]?.targets[1]],
    ['192.0.2.2 587', hosts[1], hosts[1]?.targets[0]],
  ] as never);
});

test('broken TLS is remembered for as long as time passes, whatever the wall clock says', () => {
  const clock = new TestClock();
  const broken = new BrokenTls(clock);
  clock.jump(-7_200_000);
  broken.note('mx.example.com');
  clock.jump(7_200_000 + 3_600_000);
  clock.pass(3_600_000 - 1);
  expect(broken.has('mx.example.com')).toBe(true);
  clock.pass(1);
  expect(broken.has('mx.example.com')).toBe(false);
});

test('the policy of a domain is taken whole, with its check where it has one', () => {
  const dane = { source: 'dane', mode: 'required', verify: false } as const;
  expect(policyOfDomain({ ...dane, checkPeer: check })).toEqual({
    name: 'dane',
    mode: 'required',
    verify: false,
    checkPeer: check,
  });
  expect(policyOfDomain({ source: 'mta-sts', mode: 'required', verify: true })).toEqual({
    name: 'mta-sts',
    mode: 'required',
    verify: true,
    checkPeer: null,
  });
});
