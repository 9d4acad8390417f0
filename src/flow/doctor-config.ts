/**
 * The host check's questions about what the config says of this machine: can mail leave from the addresses it names,
 * can recipients open the links that stand in mail?
 *
 * Binds for a moment, sends nothing, and asks no one. Never throws.
 */
import { createServer } from 'node:net';

import { type DoctorContext, type Finding, finding, ok } from './doctor-finding.ts';

export async function examineConfig({ config }: DoctorContext): Promise<Finding[]> {
  if (config.delivery.mode === 'capture') return [];
  return [...(await sources(config.delivery.sourceAddresses)), ...links(config.http.publicUrl)];
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
      `No mail can leave from ${seen}.`,
      "Name addresses of this machine's own interfaces in [delivery] source_addresses (behind NAT the inner ones), or none.",
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
      `Links in mail begin with ${publicUrl}, which is not https.`,
      'Only for one-click unsubscribe: give the API a certificate or a reverse proxy that has one, and set [http] public_url to the https address that recipients reach.',
    ),
  ];
}
