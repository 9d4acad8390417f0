/**
 * Words to systemd: ready, reloading, stopping, alive (sd_notify(3)).
 *
 * Does nothing where no one listens (`NOTIFY_SOCKET` unset). Datagrams to a unix socket can not be sent
 * through the runtime's own sockets, so libc is called; where libc has another name (musl) the words
 * are not sent, and the unit should then be `Type=exec`. Never throws.
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
  return {
    notify: (state) => address !== null && send(address, state),
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

function openLibrary() {
  return dlopen('libc.so.6', {
    socket: { args: ['int', 'int', 'int'], returns: 'int' },
    sendto: { args: ['int', 'ptr', 'usize', 'int', 'ptr', 'u32'], returns: 'i64' },
    close: { args: ['int'], returns: 'int' },
  });
}

let libc: ReturnType<typeof openLibrary> | null | undefined;

function send(address: Buffer, state: string): boolean {
  if (libc === undefined) {
    try {
      libc = openLibrary();
    } catch {
      libc = null;
    }
  }
  if (libc === null) return false;
  const fd = libc.symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bytes = Buffer.from(state, 'utf8');
  const sent = libc.symbols.sendto(fd, ptr(bytes), bytes.length, 0, ptr(address), address.length);
  libc.symbols.close(fd);
  return Number(sent) === bytes.length;
}
