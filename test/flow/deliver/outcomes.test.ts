/** What an attempt reports, whole: each way a host may end it, each wait for a site, and what the log says of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { deliver } from '../../../src/flow/deliver/deliver.ts';
import { backoffOfSite, tryHosts } from '../../../src/flow/deliver/hosts.ts';
import { outcomeWithoutSession, type Outcome } from '../../../src/flow/outcome/kinds.ts';
import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { UncomposableError } from '../../../src/mail/dkim/signed-message.ts';
import {
  hostOf,
  lost,
  OK,
  OPEN_TLS,
  refusal,
  startScripted,
  type Answer,
} from './scripted-site.ts';

let rig: Awaited<ReturnType<typeof startScripted>>;
beforeAll(async () => {
  rig = await startScripted([]);
});
afterAll(() => rig.fixture.close());

/** Gives back at once. */
const over = (giveBack: () => void): void => giveBack();

/** A site with one host, in a lane of its own, that answers so. */
function start(answer: Answer = {}, addresses = ['192.0.2.1']) {
  rig.sessions.script = () => answer;
  rig.sessions.seen.splice(0);
  const { recipient, signed } = rig;
  const lane = new Lane('mx:receiver', OTHERS, rig.fixture.clock);
  const site = rig.siteOf([hostOf(10, addresses, OPEN_TLS)], true);
  const job = { recipient, signed, site, maxWaitMs: null, over };
  const steps = { mayBegin: () => true, made: () => undefined, begun: () => undefined, over };
  const attempt = () =>
    deliver(rig.tools, recipient, { kind: 'site', site }, lane, steps).then(
      ({ outcome }) => outcome,
    );
  return { ...rig, lane, site, job, attempt };
}

/** The outcome of a session in the clear with the one host. */
const said = (change: Partial<Outcome> & Pick<Outcome, 'kind' | 'stage'>): Outcome => ({
  host: 'mx10.receiver.example',
  address: '192.0.2.1',
  tls: null,
  reply: null,
  cause: null,
  mayBeDuplicate: false,
  throttle: null,
  ...change,
});

const CLOSING = { code: 421, enhanced: '4.3.2', text: 'closing' };
const TLS = { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', isVerified: true };
const TLS_FACTS = {
  version: 'TLSv1.3',
  cipher: 'TLS_AES_128_GCM_SHA256',
  verified: true,
  policy: 'opportunistic',
};

test.each<[words: string, answer: Answer, outcome: Outcome]>([
  [
    'takes it',
    { result: OK },
    said({
      kind: 'accepted',
      stage: 'dot',
      reply: { code: 250, enhanced: '2.0.0', text: 'OK' },
    }),
  ],
  [
    'refuses it over TLS',
    { result: refusal(550, '5.1.1'), tls: TLS },
    said({
      kind: 'refused',
      stage: 'rcpt',
      reply: { code: 550, enhanced: '5.1.1', text: 'said so' },
      tls: TLS_FACTS,
    }),
  ],
  [
    'breaks off with a reply, over TLS that nobody checked',
    {
      result: {
        kind: 'broken',
        stage: 'data',
        cause: 'it closed',
        reply: CLOSING,
        mayBeDuplicate: false,
      },
      tls: { ...TLS, isVerified: false },
    },
    said({
      kind: 'unreached',
      stage: 'data',
      reply: CLOSING,
      cause: 'it closed',
      tls: { ...TLS_FACTS, verified: false },
    }),
  ],
  [
    'is lost after the final dot',
    { result: lost(true) },
    said({
      kind: 'unreached',
      stage: 'dot',
      cause: 'the connection was closed',
      mayBeDuplicate: true,
    }),
  ],
  [
    'cannot be told the message',
    { result: new Error('address has a control character') },
    said({ kind: 'impossible', stage: 'mail', cause: 'address has a control character' }),
  ],
  [
    'does not offer what the message needs',
    { result: { kind: 'unsupported', extension: '8BITMIME' } },
    said({
      kind: 'impossible',
      stage: 'ehlo',
      cause: 'the server does not offer 8BITMIME, which this address or message needs',
    }),
  ],
  [
    'greets with a refusal',
    { failed: { stage: 'banner', reply: CLOSING } },
    said({ kind: 'unreached', stage: 'banner', reply: CLOSING, cause: 'failed' }),
  ],
])('a host that %s: the outcome, whole', async (_words, answer, outcome) => {
  const { tools, job } = start(answer);
  expect(await tryHosts(tools, job)).toEqual(outcome);
});

test('a site without hosts is not reached', async () => {
  const { tools, job } = start({}, []);
  expect(await tryHosts(tools, job)).toEqual(
    outcomeWithoutSession('unreached', 'connect', 'the host list is empty'),
  );
});

test('a message whose form in ASCII cannot be made is not sent, and not lost', async () => {
  const { tools, job, signed, sessions } = start({
    result: { kind: 'unsupported', extension: 'SMTPUTF8' },
  });
  const inAscii = async () => {
    throw new Error('its attachment is gone');
  };
  const outcome = await tryHosts(tools, { ...job, signed: { ...signed, inAscii } });
  expect(outcome).toEqual(
    said({ kind: 'unreached', stage: 'mail', cause: 'its attachment is gone' }),
  );
  expect(sessions.seen).toHaveLength(1);
});

test('a site whose addresses all failed lately is put off with what the last of them failed with', async () => {
  const addresses = ['192.0.2.1', '192.0.2.2'];
  const { tools, site, sessions, attempt, lane } = start({}, addresses);
  sessions.isBackingOff = true;
  const causes: (string | null)[] = ['it is silent', null];
  for (const cause of causes) {
    sessions.backoffOf = ({ options: { address } }) => ({
      untilMs: address === '192.0.2.1' ? 700 : 900,
      failure: {
        kind: 'failed',
        stage: 'connect',
        reply: CLOSING,
        cause,
        isLocal: false,
        tlsFailed: false,
      },
    });
    const putOff = said({
      kind: 'throttled',
      stage: 'throttled',
      address: '192.0.2.2',
      reply: CLOSING,
      cause: `${cause ?? 'not reached'} (not dialled again so soon)`,
      throttle: { untilMs: 700, class: 'network', hint: null },
    });
    expect(backoffOfSite(tools, site)).toEqual(putOff);
    expect(await attempt()).toEqual(putOff);
  }
  // It says nothing new about the site, and none of it was dialled.
  expect([sessions.seen, lane.throttleNow()]).toEqual([[], null]);
  sessions.isBackingOff = false;
  expect(backoffOfSite(tools, site)).toBeNull();
});

test('a site that asks us to slow down is logged once, with until when, and what comes then is told why it waits', async () => {
  const reply = { code: 421, enhanced: '4.7.28', text: 'Too many messages from 192.0.2.7' };
  const { fixture, attempt, lane } = start({
    result: { kind: 'refused', stage: 'mail', reply },
  });
  fixture.clock.jump(-3_600_000);
  const asked = await attempt();
  const cause =
    'mx10.receiver.example (192.0.2.1) replied 421 4.7.28 Too many messages from 192.0.2.7 at MAIL FROM';
  expect(asked).toEqual(said({ kind: 'refused', stage: 'mail', reply }));
  const now = fixture.clock.now();
  const until = new Date(now + 60_000).toISOString();
  const throttle = lane.throttleNow();
  expect(throttle).toEqual({
    untilMs: fixture.clock.steady() + 60_000,
    cause,
    class: 'rate',
    hint: throttle?.hint ?? null,
  });
  expect(fixture.logged.slice(-1)).toEqual([
    {
      time: new Date(now).toISOString(),
      level: 'warn',
      event: 'site_throttled',
      site: 'receiver',
      until,
      cause,
      ...(throttle?.hint === null ? {} : { hint: throttle?.hint }),
    },
  ]);
  expect(await attempt()).toEqual({
    ...outcomeWithoutSession('throttled', 'throttled', `Slowed down until ${until}: ${cause}`),
    throttle,
  });
});

test.each<[error: unknown, outcome: Outcome, line: Record<string, unknown>]>([
  [
    new UncomposableError('a field has no name'),
    outcomeWithoutSession(
      'uncomposable',
      'compose',
      'the message cannot be written: a field has no name',
    ),
    { level: 'warn', event: 'message_not_composed', cause: 'a field has no name' },
  ],
  [
    new Error('no key'),
    outcomeWithoutSession('unsigned', 'sign', 'no key'),
    {
      level: 'error',
      event: 'message_not_signed',
      cause: 'no key',
      hint: 'The message stays queued. Check that the key file in the data directory belongs to this database.',
    },
  ],
])(
  'a message that has no signature: its outcome and its line (%#)',
  async (error, outcome, line) => {
    const { messages, attempt, fixture, recipient } = start();
    const { signed } = messages;
    messages.signed = error as Error;
    const reported = await attempt();
    messages.signed = signed;
    expect(reported).toEqual(outcome);
    const time = new Date(fixture.clock.now()).toISOString();
    expect(fixture.logged.slice(-1)).toEqual([{ time, message_id: recipient.messageId, ...line }]);
  },
);

test('what an attempt leaves of its site: an answer, whatever it says, or silence', async () => {
  const { lane, sessions, attempt } = start();
  const known: boolean[] = [];
  for (const answer of [
    { result: refusal(550, '5.1.1') },
    { failed: {} },
    { result: OK },
    { result: lost(false) },
    { result: { kind: 'unsupported', extension: '8BITMIME' } },
  ] satisfies Answer[]) {
    sessions.script = () => answer;
    await attempt();
    known.push(lane.hasAnswered);
  }
  expect(known).toEqual([true, false, true, false, true]);
});

test('a site that asked us to slow down says so, even where it is not reached any more; without leave nothing is said', async () => {
  const { attempt, lane, sessions, tools, site, recipient } = start();
  const asked = { cause: 'slow down', class: 'rate', hint: 'see there' } as const;
  const throttle = lane.slowDown(asked);
  sessions.isBackingOff = true;
  const failure = { kind: 'failed', stage: 'connect', reply: null, cause: 'silent' } as const;
  sessions.backoffOf = () => ({
    untilMs: 1,
    failure: { ...failure, isLocal: false, tlsFailed: false },
  });
  expect(await attempt()).toMatchObject({ kind: 'throttled', throttle });
  const none = outcomeWithoutSession('null_mx', 'dns', 'it takes no mail');
  for (const found of [{ kind: 'site', site } as const, { kind: 'none', outcome: none } as const]) {
    const steps = { mayBegin: () => false, made: () => undefined, begun: () => undefined, over };
    const nothing = { outcome: null, signed: null };
    expect(await deliver(tools, recipient, found, lane, steps)).toEqual(nothing);
    const { outcome } = await deliver(tools, recipient, found, lane, {
      ...steps,
      mayBegin: () => true,
    });
    expect(outcome?.kind).toBe(found.kind === 'none' ? 'null_mx' : 'throttled');
  }
  sessions.isBackingOff = false;
});
