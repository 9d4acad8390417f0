/** How long one address of a host that says nothing is waited for: some seconds while others are left, else to the end. */
import { afterAll, expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';

import { agentWith, closeEndpoints, found, names, OK, openEndpoint, post } from './tls-endpoint.ts';

/** The silent one's address is of this test alone: at any other somebody else may have the port. */
const ADMITTED = ['127.0.0.2/32', '127.0.0.79/32'];

const silentSockets: Socket[] = [];
const silent = createServer((socket) => {
  socket.on('error', () => undefined);
  silentSockets.push(socket);
});
afterAll(() => {
  closeEndpoints();
  for (const socket of silentSockets) socket.destroy();
  silent.close();
});

test('an address that takes the connection and says nothing leaves time for the next, and the last one has all of it', async () => {
  const { port } = await openEndpoint((socket) => socket.end(OK));
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.79', resolve));
  const both = agentWith(
    names(() => found('127.0.0.79', '127.0.0.2')),
    ADMITTED,
  );
  const alone = agentWith(
    names(() => found('127.0.0.79')),
    ADMITTED,
  );
  const [first, last] = await Promise.all([
    post(port, { agent: both, timeoutMs: 15_000 }),
    // Longer than an address has while others are left.
    post(port, { agent: alone, timeoutMs: 3_500 }),
  ]);
  expect(first).toMatchObject({ kind: 'responded', statusCode: 200 });
  expect(last).toMatchObject({ kind: 'failed', reason: 'no complete response within 3.5 s' });
  for (const agent of [both, alone]) agent.destroy();
}, 30_000);
