/** What one round of retention asks of the store, with which times, and what a stop leaves out. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { Retention } from '../../../src/flow/upkeep/retention.ts';
import { newAccount } from '../../store/samples.ts';
import { openFixture, type Fixture } from '../fixture.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({
    toml: '[retention]\nbodies = "2d"\nhistory = "40d"\naudit = "100d"\n[[plans]]\nid = "short"\nlog_retention_days = 3\n',
  });
});
afterEach(() => fixture.close());

function round(
  after: (verb: string) => void = () => undefined,
  removed = 0,
  live = fixture.ctx.config.live,
) {
  const asked: [verb: string, ...args: unknown[]][] = [];
  const verb =
    (name: string) =>
    async (...args: unknown[]) => {
      asked.push([name, ...args]);
      after(name);
      return removed;
    };
  const store = {
    ...fixture.ctx.store,
    prepareDays: async (at: number) => void (await verb('days')(at)),
    purgeBodies: verb('bodies'),
    purgeExpired: verb('expired'),
    purgeHistory: verb('history'),
    purgeMessages: verb('messages'),
    purgeAudit: verb('audit'),
    purgeLogs: verb('logs'),
    scrub: async () => void (await verb('scrub')()),
  };
  const config = { ...fixture.ctx.config, live };
  return { asked, job: new Retention({ ...fixture.ctx, config, store }) };
}

test('each kind goes after its own time, expiry by steady time, and the files are scrubbed at the end', async () => {
  const { account } = await fixture.sender({ plan: 'short' });
  fixture.clock.jump(5 * DAY_MS);
  const now = fixture.clock.now();
  const { asked, job } = round();
  await job.run(new AbortController().signal);
  expect(asked).toEqual([
    ['days', now],
    // Kept for less than a week: at most so long.
    ['bodies', now - 2 * DAY_MS, 0],
    ['expired', now, fixture.clock.steady()],
    ['history', now - 40 * DAY_MS, DAY_MS + 2 * HOUR_MS],
    ['messages', now - 40 * DAY_MS, DAY_MS + 2 * HOUR_MS],
    ['audit', now - 100 * DAY_MS, 500_000],
    ['logs', account.id, now - 3 * DAY_MS],
    ['scrub'],
  ]);
  expect(fixture.logged.map((line) => line['event'])).not.toContain('retention');
});

test('a stop ends the round after the step under way', async () => {
  await fixture.sender();
  for (const [last, expected] of [
    ['bodies', 2],
    ['expired', 3],
    ['history', 4],
    ['messages', 5],
    ['audit', 6],
  ] as const) {
    const stopping = new AbortController();
    const { asked, job } = round((verb) => {
      if (verb === last) stopping.abort();
    });
    await job.run(stopping.signal);
    expect(asked).toHaveLength(expected);
  }
});

test('logs of each of many accounts go, a part of the accounts at a time, and a stop leaves the rest', async () => {
  const { store } = fixture.ctx;
  const made = Array.from({ length: 230 }, (_, at) => newAccount(`shop ${at}`));
  for (const account of made) await store.createAccount(account);
  const all = (await store.accounts()).map(({ id }) => id);
  const read = spyOn(store, 'accounts');
  const ofLogs = (asked: unknown[][]) =>
    asked.flatMap(([verb, id]) => (verb === 'logs' ? [id] : []));

  const whole = round();
  await whole.job.run(new AbortController().signal);
  expect(ofLogs(whole.asked)).toEqual(all);
  expect(read.mock.calls.map(([part]) => part?.limit)).toEqual([100, 100, 100]);

  const stopping = new AbortController();
  let left = 150;
  const cut = round((verb) => {
    if (verb === 'logs' && (left -= 1) === 0) stopping.abort();
  });
  await cut.job.run(stopping.signal);
  expect([ofLogs(cut.asked), cut.asked.at(-1)?.[0]]).toEqual([all.slice(0, 150), 'logs']);
  read.mockRestore();
});

test('what went is logged by kind, and a round comes every hour after the first minute', async () => {
  await fixture.sender();
  await fixture.sender({ name: 'another' });
  const { job } = round(() => undefined, 1);
  await job.run(new AbortController().signal);
  expect(fixture.logged.at(-1)).toMatchObject({
    event: 'retention',
    bodies: 1,
    history: 1,
    messages: 1,
    expired: 1,
    // Of both accounts.
    logs: 2,
    audit: 1,
  });
  expect([job.firstMs, job.everyMs()]).toEqual([60_000, 3_600_000]);
});

test('what is kept for a week or more may stay a day and two rounds longer, so that a day goes as a whole', async () => {
  for (const [bodies, wait, everyMs] of [
    ['167h', 0, HOUR_MS],
    ['168h', DAY_MS + 2 * HOUR_MS, HOUR_MS],
    ['0', 0, 60_000],
  ] as const) {
    const { config } = fixture.ctx;
    const bodiesMs = Number.parseInt(bodies, 10) * HOUR_MS;
    const retention = { ...config.live.retention, bodiesMs };
    const { asked, job } = round(() => undefined, 0, { ...config.live, retention });
    await job.run(new AbortController().signal);
    expect(asked.find(([verb]) => verb === 'bodies')).toEqual([
      'bodies',
      fixture.clock.now() - bodiesMs,
      wait,
    ]);
    expect([job.everyMs(), job.failure]).toEqual([
      everyMs,
      {
        event: 'retention_failed',
        hint: 'It is tried again in an hour; look at the disk when it fails again.',
      },
    ]);
  }
});

test('a round in which one row went says so', async () => {
  const { ctx } = fixture;
  const store = { ...ctx.store, purgeExpired: async () => 1 };
  await new Retention({ ...ctx, store }).run(new AbortController().signal);
  const [told] = fixture.logged.filter(({ event }) => event === 'retention');
  expect(told).toMatchObject({ bodies: 0, history: 0, messages: 0, expired: 1, logs: 0, audit: 0 });
});
