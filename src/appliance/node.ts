/**
 * Begins the session of a server on a store that several may share.
 *
 * Promises that two processes with one data directory are the same node: its id is made once and lies in the directory.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import type { Startup } from '../base/config.ts';
import { errorCode } from '../base/error-code.ts';
import { IdSource } from '../base/ids.ts';
import { VERSION } from '../base/version.ts';
import { NodeSession } from '../flow/node-session.ts';
import type { NodeSessionOptions } from '../flow/node-session.ts';

/** `[node] name`, or the machine's own. */
export function nodeName({ node }: Pick<Startup, 'node'>): string {
  return node.name === '' ? hostname() : node.name;
}

/** Begins it. Fails as the store does. */
export function beginSession(startup: Startup, options: NodeSessionOptions): Promise<NodeSession> {
  const ids = new IdSource();
  const now = options.clock.now();
  const session = {
    id: ids.next(now),
    name: nodeName(startup),
    directory: directoryId(startup.dataDir, () => ids.next(now)),
    addresses: startup.delivery.sourceAddresses,
    version: VERSION.version,
  };
  return NodeSession.begin(session, options);
}

/** The id of the data directory, made where there is none. */
function directoryId(dataDir: string, make: () => string): string {
  const file = join(dataDir, 'node.id');
  try {
    const id = readFileSync(file, 'latin1').trim();
    if (id !== '') return id;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const id = make();
  writeFileSync(file, `${id}\n`, { mode: 0o600 });
  return id;
}
