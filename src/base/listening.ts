/**
 * Why an address of the config can not be listened on, for the operator.
 *
 * Names the key, the address and what to do; the file is right as a file, so the exit code stays 1. Any other failure
 * is given back as it is: a fault of ours.
 */
import type { Listen } from './config.ts';
import { OperatorError } from './errors.ts';

/** By the error's code: the rest of the sentence after the address, and what to do. */
const FAILURES: Readonly<Record<string, [message: string, hint: string]>> = {
  EADDRINUSE: [
    'is in use by another program',
    'Stop that program, or choose another address in the config file.',
  ],
  EADDRNOTAVAIL: [
    'is no address of this machine',
    'Choose one of its own addresses, or "0.0.0.0" for all of IPv4 and "[::]" for all.',
  ],
  EACCES: [
    'may not be listened on',
    'Choose a port above 1023, or give the service CAP_NET_BIND_SERVICE, as its systemd unit does.',
  ],
};

/** `key`: of the config, such as `http.listen`. */
export function listenFailure(key: string, { host, port }: Listen, error: unknown): unknown {
  const failure = FAILURES[(error as NodeJS.ErrnoException).code ?? ''];
  if (failure === undefined) return error;
  const [message, hint] = failure;
  return new OperatorError(`${key}: ${host} port ${port} ${message}`, hint);
}
