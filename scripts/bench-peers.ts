/** The other mail servers that deliver the same load in the same run, and why one of them cannot. */
import type { Contender } from './bench-contender.ts';
import { missingHaraka, startHaraka } from './bench-haraka.ts';
import { freePort } from './bench-load.ts';
import { startPostfix } from './bench-postfix.ts';

export interface Peer {
  name: string;
  /** In words why it cannot run on this machine; null: it can. */
  missing(): Promise<string | null>;
  start(receiverPort: number): Promise<Contender>;
}

const POSTFIX: Peer = {
  name: 'Postfix + OpenDKIM',
  missing() {
    const absent = ['postfix', 'opendkim'].filter((program) => Bun.which(program) === null);
    if (absent.length > 0) return Promise.resolve(`not installed: ${absent.join(', ')}`);
    return Promise.resolve(process.getuid?.() === 0 ? null : 'not run: it needs root');
  },
  async start(receiverPort) {
    return startPostfix({ receiver: receiverPort, smtp: await freePort() });
  },
};

const HARAKA: Peer = {
  name: 'Haraka, 2 workers',
  missing: missingHaraka,
  async start(receiverPort) {
    return startHaraka({ receiver: receiverPort, smtp: await freePort() });
  },
};

export const PEERS: readonly Peer[] = [POSTFIX, HARAKA];
