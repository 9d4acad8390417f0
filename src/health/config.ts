/**
 * The host check's questions about the config: can mail leave from the source addresses, can recipients open the links
 * in mail?
 *
 * Binds each source address for a moment, sends nothing and asks no one. Never throws.
 */
import { createServer } from 'node:net';

import { type DoctorContext, type Finding, finding, ok } from './finding.ts';

export async function examineConfig({ config }: DoctorContext): Promise<Finding[]> {
  if (config.startup.delivery.mode === 'capture') return [];
  return [
    ...(await sources(config.startup.delivery.sourceAddresses)),
    ...links(config.live.http.publicUrl),
  ];
}

async function sources(addresses: readonly string[]): Promise<Finding[]> {
  if (addresses.length === 0) return [];
  const tried = await Promise.all(
    addresses.map(async (address) => ({ address, problem: await bindProblem(address) })),
  );
  const wrong = tried.filter(({ problem }) => problem !== null);
  if (wrong.length === 0)
    return [ok('source_addresses', 'Mail can leave from every source address.')];
  const seen = wrong.map(({ address, problem }) => `${address} (${problem})`).join(', ');
  return [
    finding(
      'source_addresses',
      'error',
      `Mail cannot leave from ${seen}.`,
      "Set [delivery] source_addresses to addresses of this machine's own interfaces (behind NAT, the private ones), or leave it empty.",
    ),
  ];
}

/** Why a connection could not begin at `address`; null when it could. */
function bindProblem(address: string): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(null)));
  });
}

/** RFC 8058 section 3.1: mail programs show the button for https links only. */
function links(publicUrl: string): Finding[] {
  if (publicUrl.startsWith('https:')) return [];
  return [
    finding(
      'public_url',
      'warning',
      `The links in mail begin with ${publicUrl}, which is not https.`,
      'One-click unsubscribe needs https. Give the API a certificate, or put a reverse proxy with one in front of it, and set [http] public_url to the https address that recipients can reach.',
    ),
  ];
}
