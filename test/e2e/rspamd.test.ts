/**
 * The inbox of the compiled binary beside a real rspamd: what it says of mail that the appliance has signed, a reload that
 * begins and ends the questions, and an rspamd that is the wrong one or gone.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { BinaryAppliance, runBinary } from '../rig/binary.ts';
import { type DashboardSession, signedIn } from '../rig/dashboard-pages.ts';
import { EmulatorProcess } from '../rig/emulator.ts';
import { type Names, startNames } from '../rig/names.ts';
import { describeWith } from '../rig/programs.ts';
import { GTUBE, type Rspamd, startRspamd } from '../rig/rspamd.ts';
import type { PublishedRecord } from '../rig/world.ts';

const HOSTNAME = 'mail.rig.test';
const DOMAIN = 'sender.example';
const TIMEOUT_MS = 60_000;

/** What a page says, without markup. */
function wordsOf(text: string): string {
  return text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}

describeWith(['rspamd'], 'a real rspamd beside the inbox', () => {
  let names: Names;
  let rspamd: Rspamd;
  let appliance: BinaryAppliance;
  let session: DashboardSession;
  const started: { stop(): Promise<void> }[] = [];

  const configOf = (url: string | null): string => `[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[delivery]
mode = "capture"
${url === null ? '' : `[inbox]\nrspamd_url = "${url}"`}
`;

  beforeAll(async () => {
    names = await startNames();
    started.push(names);
    rspamd = await startRspamd();
    started.push(rspamd);
    appliance = await BinaryAppliance.start({ hostname: HOSTNAME, config: configOf(null) });
    started.push(appliance);
    const { records } = await appliance.json(['domain', 'add', DOMAIN, '--account', 'default']);
    for (const { type, name, value } of records as PublishedRecord[]) {
      names.set(name, type, [value]);
    }
    await appliance.json(['domain', 'verify', DOMAIN]);
    session = await signedIn(appliance.url, appliance.made.admin_password);
  }, TIMEOUT_MS);
  afterAll(async () => {
    for (const one of started.toReversed()) await one.stop();
  });

  /** Sends it; resolves with the path of its page once it was captured. */
  async function captured(
    subject: string,
    text: string,
    headers: Record<string, string> = {},
  ): Promise<string> {
    const answer = await appliance.api('POST', '/emails', {
      from: `Shop <shop@${DOMAIN}>`,
      to: 'ann@receiver.example',
      subject,
      text,
      headers,
    });
    expect(answer.status).toBe(200);
    const { id } = (await answer.json()) as { id: string };
    await appliance.log.first(({ event, message_id: of }) => event === 'attempt' && of === id);
    const list = await session.read('/dashboard/inbox');
    const [, path] = new RegExp(`href="([^"]*/inbox/\\d+)">${subject}<`).exec(list) ?? [];
    if (path === undefined) throw new Error(`${subject} is not in the inbox`);
    return path;
  }

  const spamTab = async (path: string): Promise<string> =>
    wordsOf(await session.read(`${path}?tab=spam`));

  async function useRspamd(url: string | null): Promise<void> {
    appliance.writeConfig(HOSTNAME, configOf(url));
    const run = await appliance.run(['reload']);
    expect([run.code, run.stderr]).toEqual([0, '']);
  }

  test(
    'it is asked about nothing until a reload names it',
    async () => {
      const path = await captured('Not asked', 'Hello.');
      expect(await spamTab(path)).toContain('No spam score');
      expect(rspamd.log()).not.toContain('ann@receiver.example');
      await useRspamd(rspamd.url);
      expect(await spamTab(path)).toMatch(
        /Score [−\d.]+ of 15 : rspamd would deliver it no action/,
      );
      expect(rspamd.log()).toContain('ann@receiver.example');
    },
    TIMEOUT_MS,
  );

  test(
    'ordinary mail has few points, and rspamd has its envelope and signature',
    async () => {
      const words = await spamTab(await captured('Your order', 'Thank you for your order 48213.'));
      const score = /Score ([−\d.]+) of 15/.exec(words)?.[1] ?? '';
      expect(Math.abs(Number(score.replace('−', '-')))).toBeLessThan(4);
      // The recipient of the envelope is the one in To.
      expect(words).toMatch(/TO_MATCH_ENVRCPT_ALL All of the recipients match the envelope/);
      // Both signatures are seen; the rig's rspamd has no name server to ask for their keys.
      expect(words).toMatch(/R_DKIM_TEMPFAIL|R_DKIM_PERMFAIL/);
    },
    TIMEOUT_MS,
  );

  test(
    'the test text of all spam filters is refused',
    async () => {
      const words = await spamTab(await captured('GTUBE', GTUBE));
      expect(words).toContain('Score 15 of 15 : rspamd would refuse it reject');
      expect(words).toContain('did not ask all its rules');
      expect(words).toMatch(/ Rule GTUBE\b/);
    },
    TIMEOUT_MS,
  );

  test(
    'what looks like spam has points, its heaviest rule first',
    async () => {
      const headers = { 'X-Mailer': 'The Bat! (v1.52f) Business' };
      const words = await spamTab(await captured('Spamlike', 'Hello.', headers));
      expect(words).toMatch(/ Rule \+\d[\d.]* (?:FORGED_MUA_THEBAT\w*|OLD_X_MAILER)/);
    },
    TIMEOUT_MS,
  );

  test(
    'a port that wants a password, and an rspamd that is gone, are told',
    async () => {
      const path = await captured('The other port', 'Hello.');
      await useRspamd(rspamd.controllerUrl);
      expect(await spamTab(path)).toMatch(/status 401\. See that rspamd_url .* usually port 11333/);
      await useRspamd(rspamd.url);
      expect(await spamTab(path)).toContain('rspamd would deliver it');
      const other = await captured('Too late', 'Hello.');
      await rspamd.stop();
      expect(await spamTab(other)).toContain('the connection was refused');
      await useRspamd(null);
      expect(await spamTab(other)).toContain('No spam score');
      // A minute after its start it also says what is wrong with its host.
      const errors = appliance.log.items.filter(
        ({ level, event }) => level === 'error' && event !== 'host_problem_found',
      );
      expect(errors).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describeWith(['rspamd'], 'a real rspamd beside the emulator', () => {
  test(
    '--rspamd-url has the inbox ask it',
    async () => {
      const rspamd = await startRspamd();
      const dev = await EmulatorProcess.start(['--rspamd-url', rspamd.url]);
      try {
        const sent = await fetch(`${dev.at.http}/emails`, {
          method: 'POST',
          headers: { authorization: 'Bearer re_dev', 'content-type': 'application/json' },
          body: JSON.stringify({
            from: 'a@b.example',
            to: 'c@d.example',
            subject: 's',
            text: GTUBE,
          }),
        });
        expect(sent.status).toBe(200);
        const page = `${dev.at.inbox}/1?tab=spam`;
        let answer = await fetch(page);
        while (answer.status === 404) {
          await Bun.sleep(20);
          answer = await fetch(page);
        }
        expect(wordsOf(await answer.text())).toContain('rspamd would refuse it');
        await dev.end();
      } finally {
        await dev.stop();
        await rspamd.stop();
      }
    },
    TIMEOUT_MS,
  );
});

test('an address that is none is refused before the emulator starts, and not repeated', async () => {
  const run = await runBinary(['dev', '--rspamd-url', 'http://me:secret@127.0.0.1:11333']);
  expect(run.code).toBe(64);
  expect(run.stderr).toContain('--rspamd-url must have no user name and no password.');
  expect(run.stderr).not.toContain('secret');
});
