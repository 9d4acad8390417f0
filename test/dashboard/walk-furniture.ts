/** What the walk over the dashboard finds there: emails of every end, a captured one, an endpoint with a call, and more. */
import { endpointLabel } from '../../src/flow/seal-labels.ts';
import type { TestClock } from '../rig/clock.ts';
import type { DashboardRig } from './dashboard-rig.ts';

const ENDS = ['delivered', 'bounced', 'complained', 'delayed', 'failed', 'suppressed'];

/** Makes it; the ids by the names that steps use. */
export async function furnish(
  dashboard: DashboardRig,
  clock: TestClock,
): Promise<Map<string, string>> {
  const { rig } = dashboard;
  const { ctx } = rig.appliance;
  const named = new Map([
    ['account', rig.account],
    ['nobody', '01913c7e-89ab-7cde-8f01-23456789abce'],
  ]);
  // From the source of the appliance, so that it sorts before what the steps make.
  const endpoint = ctx.ids.next(clock.now());
  await ctx.store.createEndpoint(
    {
      id: endpoint,
      accountId: rig.account,
      url: 'https://hook.example/all',
      events: [],
      status: 'disabled',
      sealedSecret: ctx.secrets.seal('whsec_c2VjcmV0', endpointLabel(endpoint)),
      sealedPreviousSecret: null,
      previousUntil: null,
      failureCount: 20,
      lastFailureAt: clock.now(),
      createdAt: clock.now(),
      deletedAt: null,
    },
    10,
  );
  named.set('endpoint', endpoint);
  const from = 'Shop <hello@sender.example>';
  for (const end of ENDS) {
    const to = [`${end}@sandbox.test`];
    named.set(end, await dashboard.send({ from, to, subject: `Ends ${end}`, text: 'Hello.' }));
    await clock.advance(1_000);
  }
  const rich = await dashboard.send({
    from,
    to: ['Ann <ann@receiver.example>', 'bounced@sandbox.test'],
    cc: ['ben@receiver.example'],
    bcc: ['cy@receiver.example'],
    reply_to: 'reply@sender.example',
    subject: 'Grüße <b>&amp; more</b>',
    html: '<h1>Hello</h1><p style="color:red">You <a href="https://shop.example/?a=1&b=2">see</a></p>',
    text: 'Hello, you see https://shop.example/',
    headers: { 'X-Order': '42' },
    tags: [{ name: 'kind', value: 'welcome' }],
    attachments: [{ filename: 'a "b".txt', content: Buffer.from('file').toString('base64') }],
  });
  named.set('rich', rich);
  // Each recipient of it but the simulated one, all before the clock goes on.
  await rig.log.atLeast(3, ({ event }) => event === 'attempt');
  await clock.advance(1_000);
  const newest = { limit: 1, after: null, before: null, q: null, status: null, method: null };
  // Rows of the log are written a while after their responses.
  for (let isWritten = false; !isWritten;) {
    const { rows } = await ctx.store.logs(rig.account, newest);
    isWritten = rows[0]?.messageId === rich;
    named.set('log', rows[0]?.id ?? '');
  }
  return named;
}
