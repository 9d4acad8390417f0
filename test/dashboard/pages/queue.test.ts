/** The queue as the operator sees it: by destination, by reason and by recipient, page by page, and what may be done. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { batchOf, newMessage } from '../../store/samples.ts';
import { newId } from '../../rig/ids.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { factsOf, rowsOf, targetsOf, textOf } from '../page-text.ts';

const HOUR_MS = 3_600_000;
let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig();
});
afterAll(() => rig.stop());

/** Recipients that wait for an hour, of one message. */
async function waiting(to: string[], lastReason: string | null = null, attempts = 0) {
  const made = newMessage(rig.rig.account, { status: 'delivery_delayed' }, to);
  const now = Date.now();
  for (const [at, one] of made.recipients.entries()) {
    one.nextAttemptAt = now + HOUR_MS + at * 1_000;
    one.expiresAt = now + 72 * HOUR_MS;
    one.lastReason = lastReason;
    one.attempts = attempts;
    one.status = attempts === 0 ? 'queued' : 'delivery_delayed';
  }
  await rig.rig.appliance.ctx.store.accept(batchOf(rig.rig.account, made));
  return made;
}

test('nothing waits: no search and nothing to retry', async () => {
  const page = (await rig.visit('/queue')).text;
  expect(textOf(page)).toContain('Nothing waits');
  expect(targetsOf(page)).not.toContain('/dashboard/queue/retry');
  expect(page).not.toContain('role="search"');
});

test('a destination has its number and why its oldest waits; one page has fifty recipients', async () => {
  const to = Array.from({ length: 50 }, (_, at) => `r${at}@many.test`);
  const { message } = await waiting(to, '451 <later>', 3);
  await waiting(['one@few.test']);
  const page = (await rig.visit('/queue')).text;
  const rows = rowsOf(page);
  expect(rows[0]).toMatchObject({
    Destination: 'many.test',
    Recipients: '50',
    'Why the oldest waits': '451 <later>',
  });
  expect(rows[1]).toMatchObject({
    Destination: 'few.test',
    Recipients: '1',
    'Why the oldest waits': 'not tried yet',
  });
  const said = textOf(page);
  expect(said).toContain('51 recipients to any destination: tried at once');
  expect(said).toContain('1 recipient at few.test: tried at once');
  const first = (await rig.visit('/queue?domain=MANY.test')).text;
  expect(first).not.toContain('>Older<');
  const recipients = rowsOf(first).filter((row) => row['Recipient'] !== undefined);
  expect(recipients).toHaveLength(50);
  expect(recipients[0]).toMatchObject({ Status: 'delivery delayed', Attempts: '3' });
  // The reason that all share is said once, above.
  expect(recipients[0]?.['Recipient']).toMatch(/^r\d+@many\.test$/);
  expect(rowsOf(first)[0]).toMatchObject({ Reason: '451 <later>', Recipients: '50' });
  expect(targetsOf(first)).toContain(`/dashboard${rig.account}/emails/${message.id}`);
  expect(first).toContain('data-live="5"');

  await waiting(['more@many.test']);
  const second = (await rig.visit('/queue?domain=many.test')).text;
  expect(rowsOf(second).filter((row) => row['Recipient'] !== undefined)).toHaveLength(50);
  const older = targetsOf(second).find((target) => target.includes('after=')) ?? '';
  expect(older).toContain('domain=many.test');
  const last = (await rig.visit(older.replace('/dashboard', ''))).text;
  const [only] = rowsOf(last).filter((row) => row['Recipient'] !== undefined);
  expect(only?.['Recipient']).toContain('not tried yet');
  expect(last).not.toContain('data-live');
});

test('a recipient is given up by its id, once; the page leads back to where it was', async () => {
  const { recipients } = await waiting(['gone@fail.test'], 'No such host', 1);
  const id = recipients[0]?.id ?? '';
  const gone = await rig.submit('/queue/fail', { id, at: 'fail.test' });
  expect([gone.status, gone.headers.get('location')]).toEqual([
    303,
    '/dashboard/queue?domain=fail.test&done=failed&count=1',
  ]);
  const row = await rig.rig.appliance.ctx.store.recipientById(id);
  expect([row?.status, row?.nextAttemptAt]).toEqual(['failed', null]);
  const again = await rig.submit('/queue/fail', { id });
  expect(again.headers.get('location')).toBe('/dashboard/queue?done=failed&count=0');
  expect((await rig.submit('/queue/fail', { id: newId(Date.now()) })).status).toBe(404);
  expect(textOf((await rig.visit('/queue?domain=fail.test')).text)).toContain(
    'No recipients are waiting for fail.test.',
  );
});

test('an email says who waits, why and since how many attempts, and leads to its neighbours', async () => {
  const older = await waiting(['x@older.test']);
  const made = newMessage(
    rig.rig.account,
    {
      subject: 'The <subject>',
      from: 'Shop <shop@sender.example>',
      to: ['a@mail.test', 'b@mail.test'],
      cc: ['c@mail.test'],
      replyTo: ['r@sender.example'],
      isSandbox: false,
      tags: [
        { name: 'k', value: 'v' },
        { name: 'l', value: 'w' },
      ],
    },
    ['a@mail.test', 'b@mail.test', 'c@mail.test'],
  );
  const later = Date.now() + HOUR_MS;
  const [a, b, c] = made.recipients;
  if (a === undefined || b === undefined || c === undefined) throw new Error('three are made');
  Object.assign(a, { status: 'delivered', nextAttemptAt: null, attempts: 1, lastReason: '250 ok' });
  Object.assign(b, {
    status: 'bounced',
    nextAttemptAt: null,
    attempts: 2,
    lastReason: '550 <no>',
  });
  Object.assign(c, { kind: 'cc', nextAttemptAt: later });
  await rig.rig.appliance.ctx.store.accept(batchOf(rig.rig.account, made));
  const path = `${rig.account}/emails/${made.message.id}`;
  const page = (await rig.visit(path)).text;
  const rows = rowsOf(page).filter((row) => row['Recipient'] !== undefined);
  expect(rows.map((row) => [row['Recipient'], row['Status']])).toEqual([
    ['a@mail.test', 'delivered after 1 attempt'],
    ['b@mail.test', 'bounced after 2 attempts'],
    ['c@mail.test cc', expect.stringMatching(/^queued not tried yet ?, next \d{4}-.* UTC$/)],
  ]);
  // What was delivered needs no reason.
  expect(page).not.toContain('250 ok');
  expect(textOf(page)).toContain('b@mail.test: 550 <no>');
  expect(factsOf(page)).toMatchObject({
    From: 'Shop <shop@sender.example>',
    To: 'a@mail.test, b@mail.test',
    Cc: 'c@mail.test',
    'Reply-To': 'r@sender.example',
    Tags: 'k=v, l=w',
  });
  expect(factsOf(page)['Id']).toContain(made.message.id);
  expect(factsOf(page)).not.toHaveProperty('Bcc');
  expect(page).toContain('<h1>The &lt;subject&gt;</h1>');
  expect(page).toContain('data-live="3"');
  expect(targetsOf(page)).toContain(`/dashboard${rig.account}/emails/${older.message.id}`);
  expect(textOf(page)).toContain('goes to the same 3 recipients.');
  const newer = await waiting(['y@newer.test']);
  expect(targetsOf((await rig.visit(path)).text)).toContain(
    `/dashboard${rig.account}/emails/${newer.message.id}`,
  );
});

test('a retry of one destination says how many are tried, and the rest goes on waiting', async () => {
  await waiting(['a@again.test', 'b@again.test'], '451 later', 1);
  const done = await rig.submit('/queue/retry', { domain: 'again.test', at: 'again.test' });
  expect(done.headers.get('location')).toBe(
    '/dashboard/queue?domain=again.test&done=retried&count=2',
  );
  const { largest: rows } = await rig.rig.appliance.ctx.store.queueCounts(null, 99);
  expect(rows.some(({ domain }) => domain === 'few.test')).toBe(true);
  const none = await rig.submit('/queue/retry', { domain: 'nobody.test' });
  expect(none.headers.get('location')).toBe('/dashboard/queue?done=retried&count=0');
});

test('a retry from the page of an email leads back to it, and of what is none to the queue', async () => {
  const made = await waiting(['a@mine.test', 'b@mine.test'], '451 later', 1);
  const email = `/dashboard${rig.account}/emails/${made.message.id}`;
  const done = await rig.submit('/queue/retry', { id: made.message.id });
  expect(done.headers.get('location')).toBe(`${email}?done=retried&count=2`);
  expect(
    textOf((await rig.visit(`${email}?done=retried&count=2`.slice('/dashboard'.length))).text),
  ).toContain('Recipients scheduled for delivery now: 2.');
  for (const id of [made.recipients[0]?.id ?? '', 'none']) {
    const other = await rig.submit('/queue/retry', { id });
    expect(other.headers.get('location')).toMatch(/^\/dashboard\/queue\?done=retried&count=[01]$/);
  }
});
