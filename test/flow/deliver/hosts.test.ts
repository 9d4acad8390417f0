/** Which host of a site is dialled next, and which never: decided by the answers so far. */
import { afterEach, expect, test } from 'bun:test';
import { backoffOfSite, tryHosts } from '../../../src/flow/deliver/hosts.ts';
import type { SiteHost } from '../../../src/flow/deliver/host-address.ts';
import {
  hostOf,
  lost,
  OK,
  OPEN_TLS,
  refusal,
  startScripted,
  type Script,
} from './scripted-site.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

async function start(hosts: SiteHost[], script: Script = () => ({})) {
  const rig = await startScripted(hosts);
  ended.push(() => rig.fixture.close());
  rig.sessions.script = script;
  const job = {
    recipient: rig.recipient,
    signed: rig.signed,
    site: rig.site,
    maxWaitMs: null,
    over,
  };
  return { ...rig, job, tell: () => tryHosts(rig.tools, job) };
}

/** Gives back at once. */
const over = (giveBack: () => void): void => giveBack();
const ten = Array.from({ length: 10 }, (_, at) => `192.0.2.${at + 1}`);
const dead: Script = () => ({ failed: {} });

test('five addresses are tried, in the order of preference, and no more', async () => {
  const { tell, sessions } = await start(
    [hostOf(10, ten.slice(0, 2)), hostOf(20, ten.slice(2))],
    dead,
  );
  expect(await tell()).toMatchObject({ kind: 'unreached', stage: 'connect', address: ten[4] });
  expect(sessions.seen).toEqual(ten.slice(0, 5).map((address) => `${address} none`));
});

test('an idle session at a host of the best preference comes first, with four others; of a worse one it does not', async () => {
  const { tell, tools, job, siteOf, sessions } = await start(
    [hostOf(10, ten.slice(0, 7)), hostOf(20, ten.slice(7))],
    dead,
  );
  sessions.idle = '192.0.2.6';
  await tell();
  sessions.idle = '192.0.2.9';
  await tell();
  // The second address is of a worse host already.
  sessions.idle = '192.0.2.2';
  const site = siteOf([hostOf(10, ten.slice(0, 1)), hostOf(20, ten.slice(1, 2))], true);
  await tryHosts(tools, { ...job, site });
  const dialled = sessions.seen.map((line) => Number(line.split(' ')[0]?.split('.')[3]));
  expect(dialled).toEqual([6, 1, 2, 3, 4, 1, 2, 3, 4, 5, 1, 2]);
});

test.each([
  ['takes the message', OK, 'accepted'],
  ['refuses for now', refusal(451, '4.3.0'), 'refused'],
  ['refuses for good', refusal(550, '5.1.1'), 'refused'],
  ['breaks off before the end', lost(false), 'unreached'],
  ['breaks off after the final dot', lost(true), 'unreached'],
] as const)('a host that %s has answered: no other is dialled', async (_words, result, kind) => {
  const { tell, sessions } = await start([hostOf(10, ten.slice(0, 3))], () => ({ result }));
  const outcome = await tell();
  expect([outcome.kind, sessions.seen.length]).toEqual([kind, 1]);
  expect(outcome.mayBeDuplicate).toBe(result.kind === 'broken' && result.mayBeDuplicate);
});

test('our own trouble is no reason to dial another host', async () => {
  const { tell, sessions } = await start([hostOf(10, ten)], () => ({ failed: { isLocal: true } }));
  await tell();
  expect(sessions.seen).toHaveLength(1);
});

test('a kept session that was closed meanwhile is replaced by a new one, unless the message may have been taken', async () => {
  const hosts = [hostOf(10, ten.slice(0, 1))];
  const stale = await start(hosts, () => ({ isReused: true, result: lost(false) }));
  expect((await stale.tell()).kind).toBe('accepted');
  expect(stale.sessions.seen).toEqual(['192.0.2.1 none kept', '192.0.2.1 none']);
  const taken = await start(hosts, () => ({ isReused: true, result: lost(true) }));
  expect(await taken.tell()).toMatchObject({ kind: 'unreached', mayBeDuplicate: true });
  expect(taken.sessions.seen).toHaveLength(1);
});

test('a host whose opportunistic TLS fails is dialled in the clear, for an hour without trying TLS', async () => {
  const { tell, sessions, fixture } = await start(
    [hostOf(10, ten.slice(0, 1), OPEN_TLS)],
    (_, dial) =>
      dial.options.tls.mode === 'none' ? {} : { failed: { stage: 'handshake', tlsFailed: true } },
  );
  expect((await tell()).kind).toBe('accepted');
  fixture.clock.pass(3_600_000 - 1);
  await tell();
  fixture.clock.pass(1);
  await tell();
  const modes = sessions.seen.map((line) => line.split(' ')[1]);
  expect(modes).toEqual(['opportunistic', 'none', 'none', 'opportunistic', 'none']);
});

test('in a crowd neither connection nor greeting is waited for longer than told, and never longer than usual', async () => {
  const { job, tools, sessions } = await start([hostOf(10, ten.slice(0, 1))]);
  for (const maxWaitMs of [null, 10_000, 100_000]) await tryHosts(tools, { ...job, maxWaitMs });
  expect(sessions.deadlines).toEqual([
    [30_000, 300_000],
    [10_000, 10_000],
    [30_000, 100_000],
  ]);
});

test('in a crowd a host whose TLS failed is waited for no longer in the clear', async () => {
  const { job, tools, sessions } = await start([hostOf(10, ten.slice(0, 1), OPEN_TLS)], (_, dial) =>
    dial.options.tls.mode === 'none' ? {} : { failed: { stage: 'handshake', tlsFailed: true } },
  );
  await tryHosts(tools, { ...job, maxWaitMs: 10_000 });
  expect(sessions.deadlines).toEqual([
    [10_000, 10_000],
    [10_000, 10_000],
  ]);
});

test('reports are asked of a relay alone, whose 250 is not the end', async () => {
  const { job, tools, sessions, siteOf, signed } = await start([]);
  const hosts = [hostOf(10, ten.slice(0, 1))];
  const direct = await tryHosts(tools, { ...job, site: siteOf(hosts, true) });
  const relayed = await tryHosts(tools, { ...job, site: siteOf(hosts, false) });
  expect([direct.kind, relayed.kind]).toEqual(['accepted', 'relayed']);
  expect(sessions.envelopes.map(({ dsn }) => dsn)).toEqual([false, true]);
  for (const { from, to } of sessions.envelopes) {
    expect(from).toEndWith(`@send.${signed.domain}`);
    expect(to).toBe('ann@receiver.example');
  }
});

test('a recipient that is not ASCII needs SMTPUTF8, whatever the message', async () => {
  const { job, tools, sessions } = await start([hostOf(10, ten.slice(0, 1))]);
  await tryHosts(tools, {
    ...job,
    recipient: { ...job.recipient, address: 'žiga@receiver.example' },
  });
  await tryHosts(tools, job);
  expect(sessions.envelopes.map(({ needsSmtpUtf8 }) => needsSmtpUtf8)).toEqual([true, false]);
});

test('a site waits for the address that may be dialled first, and only while none may be', async () => {
  const { tools, site, sessions } = await start([hostOf(10, ten.slice(0, 3))]);
  const until = new Map(ten.map((address, at) => [address, at === 1 ? 500 : 900]));
  sessions.isBackingOff = true;
  sessions.backoffOf = ({ options: { address } }) => {
    const untilMs = until.get(address);
    if (untilMs === undefined) return null;
    const cause = `${address} is silent`;
    const failed = { kind: 'failed', stage: 'connect', reply: null, isLocal: false } as const;
    return { untilMs, failure: { ...failed, cause, tlsFailed: false } };
  };
  expect(backoffOfSite(tools, site)).toMatchObject({
    kind: 'throttled',
    stage: 'throttled',
    throttle: { untilMs: 500, class: 'network' },
  });
  until.delete('192.0.2.2');
  expect(backoffOfSite(tools, site)).toBeNull();
});

test('an idle session in the clear comes first only where the TLS of its host was found broken', async () => {
  const { tell, tools, sessions, fixture } = await start(
    [hostOf(10, ten.slice(0, 2), OPEN_TLS)],
    dead,
  );
  Object.assign(sessions, { idle: '192.0.2.2', idleMode: 'none' });
  const first = async (): Promise<string | undefined> => {
    sessions.seen.length = 0;
    await tell();
    return sessions.seen[0];
  };
  expect(await first()).toBe('192.0.2.1 opportunistic');
  tools.brokenTls.note('mx10.receiver.example');
  expect(await first()).toBe('192.0.2.2 none');
  sessions.idleMode = 'opportunistic';
  expect(await first()).toBe('192.0.2.1 none');
  fixture.clock.pass(3_600_000);
  expect(await first()).toBe('192.0.2.2 opportunistic');
});

test('a stale session is given back at once, the one that served when it is over, each with the limit of its site', async () => {
  const { job, tools, sessions } = await start([hostOf(10, ten.slice(0, 1))], () => ({
    isReused: true,
    result: lost(false),
  }));
  /** How often was dialled when a session came back, and how many messages it may carry. */
  const back: [dials: number, messagesMax: number][] = [];
  sessions.release = (...[, messagesMax]: number[]) =>
    void back.push([sessions.seen.length, messagesMax ?? 0]);
  const later: (() => void)[] = [];
  const site = { ...job.site, limits: { ...job.site.limits, messagesPerConnection: 7 } };
  await tryHosts(tools, { ...job, site, over: (giveBack) => void later.push(giveBack) });
  expect([back, later.length]).toEqual([[[1, 7]], 1]);
  for (const giveBack of later) giveBack();
  expect(back).toEqual([
    [1, 7],
    [2, 7],
  ]);
});

test('a host that is not reached is not dialled in the clear, and its TLS is not called broken', async () => {
  const { tell, tools, sessions } = await start([hostOf(10, ten.slice(0, 1), OPEN_TLS)], dead);
  expect((await tell()).kind).toBe('unreached');
  expect(sessions.seen).toEqual(['192.0.2.1 opportunistic']);
  expect(tools.brokenTls.has('mx10.receiver.example')).toBe(false);
});

test('the form in ASCII is sent without SMTPUTF8, to the same recipient from the same return path', async () => {
  const { job, tools, sessions, signed } = await start([hostOf(10, ten.slice(0, 1))], () => ({
    result: { kind: 'unsupported', extension: 'SMTPUTF8' },
  }));
  const message = Buffer.from('Subject: in ASCII\r\n\r\nx\r\n');
  const inAscii = async () => ({ message, data: null, dotted: null });
  const wide = { ...signed, needsSmtpUtf8: true, inAscii };
  expect((await tryHosts(tools, { ...job, signed: wide })).kind).toBe('impossible');
  const [first, second] = sessions.envelopes;
  expect(sessions.envelopes).toHaveLength(2);
  expect([first?.needsSmtpUtf8, second?.needsSmtpUtf8]).toEqual([true, false]);
  expect(second?.message.bytes.toString()).toBe(message.toString());
  expect([second?.from, second?.to, second?.dsn]).toEqual([first?.from, first?.to, first?.dsn]);
});

test('what is told of TLS is the policy that asked for it, by its name', async () => {
  const policy = { name: 'mta-sts', mode: 'required', verify: true, checkPeer: null } as const;
  const tls = { version: 'TLSv1.3', cipher: 'X', isVerified: true } as const;
  const { tell } = await start([hostOf(10, ten.slice(0, 1), policy)], () => ({ tls }));
  expect((await tell()).tls).toEqual({
    version: 'TLSv1.3',
    cipher: 'X',
    verified: true,
    policy: 'mta-sts',
  });
});
