/**
 * The emails' list with each of its filters, its CSV, and one email: its story, its source, sending it again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { findEmails, type EmailQuery } from '../../../src/dashboard/pages/email-filter.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { EmailFilter } from '../../../src/store/messages.ts';
import type { Message } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';
import { newMessage } from '../../store/samples.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

const HOURS_MS = 3_600_000;
/** An hour before midnight: the others are of the next day. A session lasts twelve hours. */
const START = Date.UTC(2026, 2, 10, 23);
const NONE: EmailQuery = {
  q: null,
  status: null,
  tag: null,
  domainId: null,
  keyId: null,
  recipient: null,
  from: null,
  until: null,
};

const clock = new TestClock(START);
let rig: DashboardRig;
/** Ids by subject. */
const ids = new Map<string, string>();

async function send(subject: string, more: Record<string, unknown> = {}): Promise<void> {
  const id = await rig.send({
    from: 'Shop <news@sender.example>',
    to: 'someone@receiver.example',
    subject,
    text: `About ${subject}`,
    ...more,
  });
  ids.set(subject, id);
}

beforeAll(async () => {
  rig = await startDashboardRig({ clock, config: '[api]\nsingle_send = "full"' });
  await send('one', { tags: [{ name: 'kind', value: 'receipt' }] });
  await clock.advance(2 * HOURS_MS);
  await send('two', { to: ['Other@receiver.example', 'third@receiver.example'] });
  await clock.advance(4 * HOURS_MS);
  await send('=three', { tags: [{ name: 'kind', value: 'news' }] });
});
afterAll(() => rig.stop());

const pathOf = (subject: string): string => `${rig.account}/emails/${ids.get(subject) ?? ''}`;

/** Subjects of the list for a query, newest first. */
async function listed(query: string): Promise<string[]> {
  const { text } = await rig.visit(`${rig.account}/emails?${query}`);
  return Array.from(
    text.matchAll(/emails\/[0-9a-f-]{36}">([^<]*)</g),
    ([, subject]) => subject ?? '',
  );
}

describe('the list', () => {
  test.each([
    ['', ['=three', 'two', 'one']],
    ['tag=kind', ['=three', 'one']],
    ['tag=kind=receipt', ['one']],
    ['tag=receipt', []],
    ['to=other@', ['two']],
    ['to=THIRD@receiver', ['two']],
    ['from=2026-03-11', ['=three', 'two']],
    ['until=2026-03-10', ['one']],
    ['from=2026-03-11&until=2026-03-11', ['=three', 'two']],
    ['from=2026-03-11&tag=kind', ['=three']],
    ['until=2026-03-10&q=receiver', ['one']],
    ['from=yesterday', ['=three', 'two', 'one']],
    ['domain=none', []],
    ['key=none', []],
  ])('for %j', async (query, subjects) => {
    expect(await listed(query)).toEqual(subjects);
  });

  test('by domain and key, as the form offers them', async () => {
    const { store } = rig.rig.appliance.ctx;
    const [domain] = await store.domains(rig.rig.account);
    const [key] = await store.keys(rig.rig.account);
    expect(await listed(`domain=${domain?.id}`)).toHaveLength(3);
    expect(await listed(`key=${key?.id}&to=third`)).toEqual(['two']);
  });

  test('pages are whole: nothing twice, nothing left out', async () => {
    const { ctx } = rig.rig.appliance;
    for (const query of [NONE, { ...NONE, recipient: 'receiver' }]) {
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof findEmails>> = await findEmails(
          ctx,
          rig.rig.account,
          query,
          after,
          1,
        );
        seen.push(...page.rows.map(({ subject }) => subject));
        after = page.next;
      } while (after !== null);
      expect(seen).toEqual(['=three', 'two', 'one']);
    }
  });

  test('a search that finds nothing ends at its bound, by rows or by time, and says how far it came', async () => {
    const bounded = async (msPerRead: number) => {
      let [reads, now] = [0, 0];
      const rowAt = (at: number): Message => ({
        ...newMessage('account').message,
        id: `row ${at}`,
        createdAt: 1e9 - at,
      });
      const store = {
        emails: (_: string, { limit, after }: EmailFilter) => {
          reads += 1;
          now += msPerRead;
          const from = after === null ? 0 : Number(after.slice(4)) + 1;
          const rows = Array.from({ length: limit }, (__, at) => rowAt(from + at));
          return Promise.resolve({ rows, hasMore: true });
        },
      };
      const ctx = { store, clock: { steady: () => now } } as unknown as Context;
      return { ...(await findEmails(ctx, 'account', { ...NONE, tag: 'none' }, null, 25)), reads };
    };
    const late = { rows: [], next: 'row 499', searchedTo: 1e9 - 499, reads: 1 };
    expect(await bounded(100)).toEqual(late);
    const far = { rows: [], next: 'row 19999', searchedTo: 1e9 - 19_999, reads: 40 };
    expect(await bounded(1)).toEqual(far);
  });

  test('is a CSV with the same filters, in which nothing is a formula', async () => {
    const { text, headers } = await rig.visit(`${rig.account}/emails.csv?tag=kind`);
    expect(headers.get('content-disposition')).toContain('emails-default.csv');
    const rows = text.trimEnd().split('\r\n');
    expect(rows).toHaveLength(3);
    expect(rows[1]).toContain(",'=three,kind=news,");
    expect(rows[2]).toContain('2026-03-10T23:00:00.000Z');
  });
});

describe('an email', () => {
  test('has its source, as a file too', async () => {
    const page = await rig.visit(`${pathOf('one')}?tab=source`);
    expect(page.text).toContain('Subject: one');
    const { text, headers } = await rig.visit(`${pathOf('one')}/source`);
    expect(headers.get('content-type')).toBe('message/rfc822');
    expect(headers.get('content-disposition')).toContain('.eml');
    expect(text).toContain('\r\n\r\nAbout one');
    expect((await rig.visit(`${pathOf('one')}?tab=headers`)).text).toContain('Message-ID');
  });

  test.each([
    [{ text: 'Hello' }, ['Text', 'Source', 'Headers']],
    [{ text: undefined, html: '<p>Hello</p>' }, ['HTML', 'Source', 'Headers']],
    [
      {
        html: '<p>Hello</p>',
        attachments: [1, 2].map((n) => ({ filename: `${n}.txt`, content: 'YQ==' })),
      },
      ['HTML', 'Text', 'Source', 'Headers', 'Attachments (2)'],
    ],
  ] as [Record<string, unknown>, string[]][])(
    'of %j offers what it has: %j',
    async (more, labels) => {
      const id = await rig.send({
        from: 'Shop <news@sender.example>',
        to: 'someone@receiver.example',
        subject: 'Content',
        text: 'Hello',
        ...more,
      });
      const { text } = await rig.visit(`${rig.account}/emails/${id}`);
      const [, tabs = ''] =
        /<nav class="tabs [^"]*" aria-label="Content">(.*?)<\/nav>/s.exec(text) ?? [];
      const shown = Array.from(tabs.matchAll(/>([^<]+)<\/a/g), ([, label = '']) => label.trim());
      expect(shown).toEqual(labels);
    },
  );

  test('leads to its neighbours in the list', async () => {
    const { text } = await rig.visit(pathOf('two'));
    expect(text).toContain(`rel="prev" href="/dashboard${pathOf('=three')}"`);
    expect(text).toContain(`rel="next" href="/dashboard${pathOf('one')}"`);
    expect((await rig.visit(pathOf('one'))).text).not.toContain('rel="next"');
  });

  test('is sent again as a new one with the same content', async () => {
    const sent = await rig.submit(`${pathOf('one')}/send-again`);
    expect(sent.status).toBe(303);
    const path = sent.headers.get('location')?.replace('/dashboard', '').split('?')[0] ?? '';
    expect(path).not.toBe(pathOf('one'));
    const source = await rig.visit(`${path}/source`);
    expect(source.text).toContain('\r\n\r\nAbout one');
    const first = await rig.visit(`${pathOf('one')}/source`);
    const idIn = (text: string): string => /^Message-ID: (.*)$/m.exec(text)?.[1] ?? '';
    expect(idIn(source.text)).not.toBe(idIn(first.text));
    expect((await rig.visit(path)).text).toContain('kind=receipt');
  });
});
