/**
 * Elysia without a product, as a reference: the routes of sends and reads, their bodies checked, nothing stored.
 *
 * Run as a program it listens on a free port and writes it to standard output; `startBare` runs it so.
 */
import { join } from 'node:path';
import { Elysia, t } from 'elysia';

import type { Contender } from './bench-contender.ts';
import { connectHttp } from './bench-http.ts';
import { unitEnvironment } from './bench-postrider.ts';

export interface Bare extends Contender {
  url: string;
  /** From the start of the process to the line with its port. */
  readyMs: number;
}

export const BARE = 'bare Elysia';

/** Under the runtime and the settings that the executable has. */
export async function startBare(): Promise<Bare> {
  const began = performance.now();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'bench-bare.ts')], {
    env: { ...process.env, ...unitEnvironment() },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { value } = await child.stdout.getReader().read();
  const readyMs = performance.now() - began;
  if (value === undefined) throw new Error(`bare Elysia ended with ${await child.exited}`);
  const url = new TextDecoder().decode(value).trim();
  return {
    name: BARE,
    pids: [child.pid],
    url,
    readyMs,
    connect: () => connectHttp(new URL(url), 'none'),
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

function serve(): string {
  const text = t.String();
  const app = new Elysia()
    .post('/emails', () => ({ id: Bun.randomUUIDv7() }), {
      body: t.Object({ from: text, to: text, subject: text, html: text, text }),
    })
    .get('/emails/:id', ({ params }) => ({ id: params.id, object: 'email' }))
    .get('/emails', ({ query }) => ({ object: 'list', has_more: false, data: [query] }))
    .listen({ hostname: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${app.server?.port}`;
}

if (import.meta.main) process.stdout.write(`${serve()}\n`);
