/**
 * Every part of the dashboard of the compiled binary, used as an operator would: in Chromium, with scripts, and the same
 * once more with scripts switched off. The first hour of a new operator is `dashboard.test.ts`.
 *
 * Throughout: no request to another host, nothing that a Content-Security-Policy had to forbid, no fault of a script.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chromium } from 'playwright-core';

import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { openClosedPort } from '../rig/closed-port.ts';
import { startHook } from '../rig/hook.ts';
import { startNames } from '../rig/names.ts';
import { describeWith, PROGRAMS } from '../rig/programs.ts';
import { useAccounts } from './dashboard-walks/accounts.ts';
import { useDomains } from './dashboard-walks/domains.ts';
import { useEmails } from './dashboard-walks/emails.ts';
import { useInbox } from './dashboard-walks/inbox.ts';
import { useKeys } from './dashboard-walks/keys.ts';
import { useLogs } from './dashboard-walks/logs.ts';
import { DOMAIN, SLOW } from './dashboard-walks/mail.ts';
import { useOperators } from './dashboard-walks/operators.ts';
import { useOverview } from './dashboard-walks/overview.ts';
import { useQueue } from './dashboard-walks/queue.ts';
import { useSettings } from './dashboard-walks/settings.ts';
import { useSuppressions } from './dashboard-walks/suppressions.ts';
import { type Ground, Walker, Watch } from './dashboard-walks/walker.ts';
import { useWebhooks } from './dashboard-walks/webhooks.ts';

const TIMEOUT_MS = 60_000;

const WALKS: readonly (readonly [name: string, walk: (walker: Walker) => Promise<void>])[] = [
  ['webhooks', useWebhooks],
  ['keys', useKeys],
  ['suppressions', useSuppressions],
  ['operators', useOperators],
  ['settings', useSettings],
  ['accounts and plans', useAccounts],
  ['domains', useDomains],
  ['queue', useQueue],
  ['logs', useLogs],
  ['emails', useEmails],
  ['inbox', useInbox],
  ['overview', useOverview],
];

describeWith(['chromium', 'openssl'], 'the dashboard, used', () => {
  const started: { stop(): Promise<void> | void }[] = [];
  let ground: Ground;

  beforeAll(async () => {
    const names = await startNames();
    started.push(names);
    names.set('hook.rig.test', 'A', ['127.0.0.1']);
    const hook = await startHook();
    started.push(hook);
    const slow = await openClosedPort();
    started.push(slow);
    const appliance = await BinaryAppliance.start({
      config: `[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[webhooks]
allow_networks = ["127.0.0.0/8"]
[delivery]
mode = "capture"
allow_networks = ["127.0.0.0/8"]
[[delivery.routes]]
domains = ["${SLOW}"]
host = "127.0.0.1"
port = ${slow.port}
[[plans]]
id = "starter"
included_emails = 3000
`,
    });
    started.push(appliance);
    const { records } = await appliance.json(['domain', 'add', DOMAIN, '--account', 'default']);
    for (const { type, name, value } of records as { type: 'TXT'; name: string; value: string }[]) {
      names.set(name, type, [value]);
    }
    await appliance.json(['domain', 'verify', DOMAIN]);
    const browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    started.push({ stop: () => browser.close() });
    ground = { names, hook, appliance, browser, watch: new Watch(appliance) };
  }, TIMEOUT_MS);
  afterAll(async () => {
    for (const one of started.toReversed()) await one.stop();
    expect(ground.watch.wrong).toEqual([]);
  });

  describe.each([true, false])('with scripts: %j', (hasScripts) => {
    let walker: Walker;
    beforeAll(async () => {
      walker = await Walker.arrive(ground, hasScripts);
      await walker.signIn('admin', ground.appliance.made.admin_password);
    }, TIMEOUT_MS);
    afterAll(() => walker.leave());

    test.each(WALKS)('%s', (_, walk) => walk(walker), TIMEOUT_MS);
  });
});
