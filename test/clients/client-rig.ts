/**
 * One appliance with everything around it for the clients of a file, and the programs that they run in.
 *
 * Promises that each client runs unchanged in a process of its own, which knows only the base address and a key; that
 * cc, bcc and attachments are taken by `POST /emails` too, as clients expect; that new keys begin with `re_`; and submission with STARTTLS and implicit
 * TLS. A program that ends with another code than 0 fails its test with all it wrote.
 */
import { join } from 'node:path';

import { testAuthority } from '../rig/certificates.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

export const ROOT = join(import.meta.dir, '../..');
export const PACKAGES = join(ROOT, 'node_modules');

export interface ClientWorld extends World {
  /** Host name of the submission listeners; programs reach it as 127.0.0.1. */
  starttlsPort: number;
  tlsPort: number;
  caFile: string;
}

export async function startClientWorld(): Promise<ClientWorld> {
  const { certFile, keyFile } = testAuthority().issue(['localhost', '127.0.0.1']);
  const world = await startWorld({
    config: `[api]
single_send = "full"
key_prefix = "re"
[smtp]
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = "${certFile}"
tls_key = "${keyFile}"
`,
  });
  const ready = await world.appliance.log.first(({ event }) => event === 'ready');
  return {
    ...world,
    starttlsPort: portOf(ready['submission']),
    tlsPort: portOf(ready['submissions']),
    caFile: testAuthority().certFile,
  };
}

function portOf(list: unknown): number {
  if (!Array.isArray(list)) throw new Error(`no listener in ${JSON.stringify(list)}`);
  return Number(String(list[0]).split(':')[1]);
}

export interface Ran {
  code: number;
  out: string;
  errors: string;
}

/** A client's process; `cwd` below the appliance's own folder, so that nothing is left behind. */
export async function runClient(
  world: World,
  command: string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  const child = Bun.spawn(command, {
    cwd: world.appliance.folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: world.appliance.folder,
      RESEND_BASE_URL: world.appliance.url,
      RESEND_API_KEY: world.appliance.made.key,
      ...options.env,
    },
    stdin: Buffer.from(options.input ?? ''),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, errors };
}

/** What a client printed as JSON on its last line; throws with all it wrote when it failed. */
export function jsonOf({ code, out, errors }: Ran): unknown {
  if (code !== 0) throw new Error(`ended with ${code}:\n${out}\n${errors}`);
  try {
    return JSON.parse(out);
  } catch {
    throw new Error(`printed no JSON:\n${out}\n${errors}`);
  }
}

/** The file of a program beside these tests. */
export const programFile = (name: string): string => join(import.meta.dir, 'programs', name);
