/**
 * oven-sh/bun#36140: a connection that fails for want of descriptors is reported as ECONNREFUSED, which reads like
 * the receiver's fault. src/wire/local-errors.ts tells the two apart.
 *
 * When `cause` no longer says ECONNREFUSED here, Bun was mended and the probe can go.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';

const DESCRIPTORS = 48;

test('out of descriptors is our trouble, a closed port is theirs', () => {
  const program = `
    import { openSync, closeSync } from 'node:fs';
    import { createServer } from 'node:net';
    import { openSession } from '${join(import.meta.dir, '../../src/wire/smtp-client.ts')}';
    import { PRODUCTION_DEADLINES } from '${join(import.meta.dir, '../../src/wire/smtp-deadlines.ts')}';
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    const attempt = async () => {
      const { stage, cause, isLocal } = await openSession({
        address: '127.0.0.1', port, localAddress: null, heloName: 'c.test', serverName: 'mx.test',
        tls: { mode: 'none', verify: false }, auth: null, deadlines: PRODUCTION_DEADLINES,
      });
      return { stage, cause, isLocal };
    };
    const held = [];
    try { for (;;) held.push(openSync('/dev/null', 'r')); } catch {}
    const without = await attempt();
    for (const fd of held) closeSync(fd);
    console.log(JSON.stringify({ without, withSome: await attempt() }));
  `;
  const command = `ulimit -n ${DESCRIPTORS}; exec "$0" -e "$1"`;
  const run = Bun.spawnSync(['sh', '-c', command, process.execPath, program]);
  const { without, withSome } = JSON.parse(run.stdout.toString()) as Record<string, unknown>;
  expect(without).toMatchObject({ stage: 'connect', isLocal: true });
  expect(withSome).toMatchObject({ stage: 'connect', isLocal: false });
  expect((without as { cause: string }).cause).toContain('ECONNREFUSED');
});
