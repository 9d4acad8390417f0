/**
 * Tells systemd that the service is ready, reloading, stopping or alive (sd_notify(3)).
 *
 * Does nothing when systemd did not ask for it (`NOTIFY_SOCKET` unset). The runtime's own sockets cannot send
 * datagrams to a unix socket, so libc is called; where libc has another name (musl) nothing is sent, and the unit
 * should then be `Type=exec`. Never throws.
 */
import { dlopen, ptr } from 'bun:ffi';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
/** `sun_path` of sockaddr_un(7). */
const PATH_BYTES_MAX = 108;

export interface Notifier {
  /** Sends one state, e.g. `READY=1`; true when it was handed over. */
  notify(state: string): boolean;
  /** How often systemd wants a sign of life, in milliseconds; null when it does not ask. */
  readonly watchdogMs: number | null;
}

/** Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` from `environment`. */
export function createNotifier(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): Notifier {
  const path = environment['NOTIFY_SOCKET'] ?? '';
  const address = socketAddress(path);
  const isForUs = [undefined, String(pid)].includes(environment['WATCHDOG_PID']);
  const watchdogUs = Number(environment['WATCHDOG_USEC'] ?? Number.NaN);
  const libc = address === null ? null : openLibrary();
  return {
    notify: (state) => address !== null && libc !== null && send(libc, address, state),
    watchdogMs: isForUs && watchdogUs > 0 ? watchdogUs / 1000 : null,
  };
}

/** struct sockaddr_un for a path, or an abstract name written with a leading `@`. */
function socketAddress(path: string): Buffer | null {
  if (path === '' || (path[0] !== '/' && path[0] !== '@')) return null;
  const name = Buffer.from(path, 'utf8');
  if (name.length >= PATH_BYTES_MAX) return null;
  const isAbstract = path[0] === '@';
  if (isAbstract) name[0] = 0;
  const family = Buffer.from(Uint16Array.of(AF_UNIX).buffer);
  return Buffer.concat(isAbstract ? [family, name] : [family, name, Buffer.of(0)]);
}

/** The functions of libc that are needed; null where it has another name. */
function openLibrary() {
  try {
    return dlopen('libc.so.6', {
      socket: { args: ['int', 'int', 'int'], returns: 'int' },
      sendto: { args: ['int', 'ptr', 'usize', 'int', 'ptr', 'u32'], returns: 'i64' },
      close: { args: ['int'], returns: 'int' },
    });
  } catch {
    return null;
  }
}

function send(
  libc: NonNullable<ReturnType<typeof openLibrary>>,
  address: Buffer,
  state: string,
): boolean {
  const fd = libc.symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bytes = Buffer.from(state, 'utf8');
  const sent = libc.symbols.sendto(fd, ptr(bytes), bytes.length, 0, ptr(address), address.length);
  libc.symbols.close(fd);
  return Number(sent) === bytes.length;
}
