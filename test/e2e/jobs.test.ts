/**
 * What the compiled binary does by itself while it serves: within its first minute it looks at bounce rates, forgets
 * content, and checks its host; and counts it all. Nothing can shorten that minute, so this takes a bit longer than one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const FIRST_ROUND_MS = 60_000;
const PATIENCE_MS = FIRST_ROUND_MS + 20_000;
const SENT = 200;
const BOUNCED = 30;

let world: World;
beforeAll(async () => {
  world = await startWorld({ config: '[retention]\nbodies = "0"' });
}, 30_000);
afterAll(() => world.stop());

const email = (to: string[]) => ({ from: 'hello@example.org', to, subject: 's', text: 'Kept?' });

async function send(to: string[]): Promise<Response> {
  return world.appliance.api('POST', '/emails', email(to));
}

async function textOf(id: string): Promise<unknown> {
  const answer = await world.appliance.api('GET', `/emails/${id}`);
  return ((await answer.json()) as { text: unknown }).text;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${world.appliance.url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('in the first minute', () => {
  let delivered: string;
  let waiting: string;

  beforeAll(async () => {
    const { receiver, appliance } = world;
    receiver.script.rcpt = (address) => {
      if (address.startsWith('bad')) return '550 5.1.1 no such user';
      return address.startsWith('later') ? '450 4.2.0 come back later' : null;
    };
    const idOf = async (to: string): Promise<string> =>
      ((await (await send([to])).json()) as { id: string }).id;
    delivered = await idOf('good@example.net');
    waiting = await idOf('later@example.net');
    expect([await textOf(delivered), await textOf(waiting)]).toEqual(['Kept?', 'Kept?']);
    for (let from = 0; from < SENT; from += 50) {
      const to = Array.from({ length: 50 }, (_, at) =>
        from + at < BOUNCED ? `bad${at}@example.net` : `good${from + at}@example.net`,
      );
      expect((await send(to)).status).toBe(200);
    }
    const isBounce = (line: object): boolean => 'status' in line && line.status === 'bounced';
    await appliance.log.atLeast(BOUNCED, isBounce, 30_000);
    expect((await send(['one-more@example.net'])).status).toBe(200);
  }, 60_000);

  test(
    'the brake pauses an account whose mail bounces',
    async () => {
      const paused = await world.appliance.log.first(
        ({ event }) => event === 'account_braked',
        PATIENCE_MS,
      );
      expect(paused).toMatchObject({ level: 'error', account: 'default' });
      expect(String(paused['reason'])).toContain(`${BOUNCED} of `);
      const refused = await send(['one-more@example.net']);
      expect([refused.status, await refused.json()]).toMatchObject([
        403,
        { code: 'account_paused' },
      ]);
    },
    PATIENCE_MS,
  );

  test(
    'content that is not to be kept goes, that of mail which waits stays',
    async () => {
      const { log } = world.appliance;
      const round = await log.first(({ event }) => event === 'retention', PATIENCE_MS);
      expect(round['bodies']).toBeGreaterThan(1);
      expect(await textOf(delivered)).toBeNull();
      expect(await textOf(waiting)).toBe('Kept?');
    },
    PATIENCE_MS,
  );

  test(
    'the host check finds what is wrong, and says so in the log, /health, numbers and dashboard',
    async () => {
      const { appliance } = world;
      // mail.rig.test has no address in the rig's DNS.
      const logged = await appliance.log.first(
        (line) => line.event === 'host_problem_found' && line['check'] === 'hostname',
        PATIENCE_MS,
      );
      const summary = String(logged['summary']);
      expect(summary).toContain('mail.rig.test has no address');

      const health = (await (await fetch(`${appliance.url}/health`)).json()) as {
        checked_at: string;
        findings: { check: string; level: string; summary: string; advice: string }[];
      };
      expect(Date.parse(health.checked_at)).toBeGreaterThan(Date.now() - PATIENCE_MS);
      const found = health.findings.find(({ check }) => check === 'hostname');
      expect(found).toMatchObject({ level: 'error', summary, advice: logged['hint'] });

      const errors = health.findings.filter(({ level }) => level === 'error').length;
      expect(await metric('postrider_doctor_findings{level="error"}')).toBe(errors);

      const signedIn = await fetch(`${appliance.url}/dashboard/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ password: appliance.made.admin_password }),
      });
      const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
      const page = await fetch(`${appliance.url}/dashboard/`, { headers: { cookie } });
      expect(await page.text()).toContain(summary);
    },
    PATIENCE_MS,
  );

  test('the numbers have counted all of it', async () => {
    expect(await metric('postrider_messages_accepted_total')).toBe(2 + SENT / 50 + 1);
    expect(await metric('postrider_attempts_total')).toBeGreaterThanOrEqual(SENT + 3);
    expect(await metric('postrider_queue_recipients')).toBe(1);
    expect(await metric('postrider_event_loop_lag_seconds_count')).toBeGreaterThan(100);
  });
});
