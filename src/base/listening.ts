/**
 * Says why the appliance cannot listen on an address of the config.
 *
 * Names the key, the address and what to do. The file itself is valid, so the exit code is 1 and not 78. Any other
 * failure is returned unchanged: it is a fault of ours.
 */
import type { Listen } from './config.ts';
import { OperatorError } from './errors.ts';

/** By the system's error code: the end of the sentence that names the address, and what to do. */
const FAILURES: Readonly<Record<string, [message: string, hint: string]>> = {
  EADDRINUSE: [
    'is in use by another program',
    'Stop that program, or set another address in the config file.',
  ],
  EADDRNOTAVAIL: [
    'is not an address of this machine',
    'Use one of its own addresses, or "0.0.0.0" for every IPv4 address and "[::]" for every address.',
  ],
  EACCES: [
    'needs a privilege that the process does not have',
    'Use a port above 1023, or grant the service CAP_NET_BIND_SERVICE, as its systemd unit does.',
  ],
};

/** `key` is the config key, such as `http.listen`. Returns an `OperatorError`, or `error` itself. */
export function listenFailure(key: string, { host, port }: Listen, error: unknown): unknown {
  const failure = FAILURES[(error as NodeJS.ErrnoException).code ?? ''];
  if (failure === undefined) return error;
  const [message, hint] = failure;
  return new OperatorError(`${key}: ${host} port ${port} ${message}`, hint);
}
