/**
 * Pebble, the ACME authority (RFC 8555) for tests, on loopback: it refuses what real ones would refuse.
 *
 * Promises free ports, names looked up in the rig's DNS alone, and that `stop` ends the process and removes its folder.
 * Its own certificate is from the rig's CA; those it issues lead to a root that it makes at each start.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { CertificateAuthority } from './certificates.ts';
import type { Names } from './names.ts';
import { freePorts } from './ports.ts';

const NAME = 'acme-authority.test';
const POLL_MS = 10;

export interface Pebble {
  directoryUrl: string;
  /** Where it asks for answers to its HTTP-01 challenges. */
  challengePort: number;
  /** PEM of the root that its certificates lead to. */
  root(): Promise<string>;
  /** Answers nothing until `resume`; who calls meanwhile waits. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** `authority` signs its own certificate. */
export async function startPebble(authority: CertificateAuthority, names: Names): Promise<Pebble> {
  const folder = mkdtempSync(join(tmpdir(), 'pebble-'));
  const certificate = authority.issue([NAME]);
  const [port, managementPort, httpPort, tlsPort] = await freePorts(4);
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: certificate.certFile,
      privateKey: certificate.keyFile,
      httpPort,
      tlsPort,
      ocspResponderURL: '',
    },
  };
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify(config));
  names.set(NAME, 'A', ['127.0.0.1']);
  const server = `${names.listen.host}:${names.listen.port}`;
  const child = Bun.spawn(
    ['/usr/bin/pebble', '-config', join(folder, 'pebble.json'), '-dnsserver', server],
    // Without the random sleeps that imitate a busy authority; a tenth of its nonces is refused as always.
    { env: { PEBBLE_VA_NOSLEEP: '1' }, stdout: 'pipe', stderr: 'ignore' },
  );
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = '';
  while (!printed.includes('ACME directory available')) {
    const part = await reader.read();
    if (part.done) throw new Error(`pebble ended: ${printed}`);
    printed += part.value;
  }
  reader.releaseLock();
  // It says so a moment before it listens, and nothing when it does.
  for (const candidate of [port, managementPort]) {
    while (!(await isOpen(candidate ?? 0)) && child.exitCode === null) await Bun.sleep(POLL_MS);
  }
  return {
    directoryUrl: `https://${NAME}:${port}/dir`,
    challengePort: httpPort ?? 0,
    root: () => fetchText(managementPort ?? 0, '/roots/0', authority.cert),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true });
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
  });
}

function fetchText(port: number, path: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ ca, servername: NAME });
    const call = get({ host: '127.0.0.1', port, path, agent }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () => resolve(text));
    });
    call.once('error', reject);
  });
}
