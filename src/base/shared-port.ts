/**
 * Several listeners of this process on one port: chooses the one that gets the new connections.
 *
 * The kernel spreads connections over them at random, and resets those that wait for a listener that is closed. With a
 * program of one instruction (SO_ATTACH_REUSEPORT_CBPF, socket(7)) all of them go to the newest, so that an older one
 * can be closed once nothing waits for it. Needs Linux and glibc; elsewhere it returns false and changes nothing.
 */
import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const SOL_SOCKET = 1;
const SO_ATTACH_REUSEPORT_CBPF = 51;
/** BPF_RET | BPF_K of linux/filter.h: the program returns a constant. */
const RETURN_CONSTANT = 0x06;
/** TCP_LISTEN, as /proc/net/tcp writes it (proc(5)). */
const LISTENING = '0A';

/**
 * Gives new connections on `port` to the listener at `index`: counted from 0 in the order in which they began to
 * listen; the last one takes the index of one that was closed. False when the system cannot do it; then nothing has
 * changed.
 */
export function steerTo(port: number, index: number): boolean {
  try {
    const library = openLibrary();
    const steered = listenersOn(port).map((descriptor) => attach(library, descriptor, index));
    library.close();
    return steered.includes(true);
  } catch {
    return false;
  }
}

function attach(
  { symbols }: ReturnType<typeof openLibrary>,
  descriptor: number,
  index: number,
): boolean {
  // struct sock_filter {u16 code; u8 jt; u8 jf; u32 k}
  const filter = new DataView(new ArrayBuffer(8));
  filter.setUint16(0, RETURN_CONSTANT, true);
  filter.setUint32(4, index, true);
  // struct sock_fprog {u16 len; struct sock_filter *filter}
  const program = new DataView(new ArrayBuffer(16));
  program.setUint16(0, 1, true);
  program.setBigUint64(8, BigInt(ptr(filter)), true);
  return (
    symbols.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), 16) === 0
  );
}

function openLibrary() {
  return dlopen('libc.so.6', {
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
  });
}

/** Descriptors of this process that listen on the port, on whatever address. */
function listenersOn(port: number): number[] {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => inodesListening(table, port)));
  return readdirSync('/proc/self/fd')
    .filter((descriptor) => inodes.has(inodeOf(descriptor)))
    .map(Number);
}

function inodesListening(table: string, port: number): string[] {
  const [, ...lines] = readFileSync(`/proc/self/net/${table}`, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const isOurs = state === LISTENING && Number.parseInt(local.split(':')[1] ?? '', 16) === port;
    return isOurs ? [inode] : [];
  });
}

/** The inode of a socket's descriptor; empty for everything else, and for one just closed. */
function inodeOf(descriptor: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1] ?? '';
  } catch {
    return '';
  }
}
