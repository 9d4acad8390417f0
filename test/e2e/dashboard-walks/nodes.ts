/** The nodes of a service: which takes part, and the drain of another one, as it leaves the list. */
import { expect } from 'bun:test';

import type { BinaryAppliance } from '../../rig/binary.ts';
import type { Walker } from './walker.ts';

/** `name`: what the other node is called. */
export async function useNodes(walker: Walker, name: string, node: BinaryAppliance): Promise<void> {
  await walker.menu('Nodes');
  await walker.row('shows this page').getByText('live', { exact: true }).waitFor();
  const row = walker.row(name);
  await row.getByText('live', { exact: true }).waitFor();
  await walker.confirm('Drain', `Drain ${name}`, { within: row });
  await walker.says('The node drains: it ends what is under way.');
  await node.log.first(({ event }) => event === 'node_drained', 30_000);
  await walker.becomes('shows this page');
  while ((await row.count()) > 0) {
    if (walker.hasScripts) await row.first().waitFor({ state: 'detached' });
    else await walker.page.reload();
  }
  const refused = await node.api('POST', '/emails', {
    from: 'hello@example.org',
    to: 'late@example.net',
    subject: 'Late',
    text: 'x',
  });
  expect(refused.status).toBe(503);
  await walker.menu('Audit log');
  await walker.row('nodes.drain').filter({ hasText: name }).first().waitFor();
}
