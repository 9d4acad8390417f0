/**
 * Which port of loopback an emulator takes.
 *
 * Promises the port that was asked for or an `OperatorError` that names its option; without one, the usual port or the
 * next that is free, with a sentence that says so. Another program may still be faster: the listener refuses then.
 */
import { createServer } from 'node:net';

import { OperatorError } from '../base/errors.ts';

/** How many ports after the usual one are tried. */
const NEIGHBOURS = 20;

export interface ChosenPort {
  port: number;
  /** For people; empty for the port that they expect. */
  note: string;
}

/** `asked`: null where none was given. `option`: for the texts. */
export async function choosePort(
  host: string,
  asked: number | null,
  usual: number,
  option: string,
): Promise<ChosenPort> {
  if (asked !== null) {
    if (asked === 0 || (await isFree(host, asked))) return { port: asked, note: '' };
    throw new OperatorError(`Port ${asked} is in use by another program.`, hintFor(option, usual));
  }
  for (let port = usual; port <= usual + NEIGHBOURS; port += 1) {
    if (!(await isFree(host, port))) continue;
    const note =
      port === usual
        ? ''
        : `Port ${usual} is in use (another emulator?), so this one takes ${port}; ${option} chooses.`;
    return { port, note };
  }
  throw new OperatorError(
    `Ports ${usual} to ${usual + NEIGHBOURS} are in use by other programs.`,
    hintFor(option, usual),
  );
}

function hintFor(option: string, usual: number): string {
  return `If it is another emulator, use that one or stop it. Or choose a port: postrider dev ${option} ${usual + 100}.`;
}

/** Whether a listener can have it now. */
function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
