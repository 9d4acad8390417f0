/**
 * A port on which no connection is ever completed: its backlog is full and nobody accepts.
 *
 * Promises that connecting to it neither succeeds nor fails. Made with the C library's own calls, since the
 * runtime's servers always accept. Linux with glibc only, like the rest of the rig.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const AF_INET = 2;
const SOCK_STREAM = 1;
const ADDRESS_BYTES = 16;

export interface DeafPort {
  port: number;
  stop(): void;
}

/** On 127.0.0.1. */
export async function openDeafPort(): Promise<DeafPort> {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: [FFIType.int, FFIType.int, FFIType.int], returns: FFIType.int },
    bind: { args: [FFIType.int, FFIType.ptr, FFIType.int], returns: FFIType.int },
    listen: { args: [FFIType.int, FFIType.int], returns: FFIType.int },
    getsockname: { args: [FFIType.int, FFIType.ptr, FFIType.ptr], returns: FFIType.int },
    close: { args: [FFIType.int], returns: FFIType.int },
  });
  const fd = symbols.socket(AF_INET, SOCK_STREAM, 0);
  // struct sockaddr_in: family in host order, port and address in network order.
  const address = Buffer.alloc(ADDRESS_BYTES);
  address.writeUInt16LE(AF_INET, 0);
  address.set([127, 0, 0, 1], 4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(ADDRESS_BYTES);
  if (symbols.bind(fd, ptr(address), ADDRESS_BYTES) !== 0) throw new Error('bind failed');
  if (symbols.listen(fd, 0) !== 0) throw new Error('listen failed');
  if (symbols.getsockname(fd, ptr(address), ptr(length)) !== 0) throw new Error('no port');
  const port = address.readUInt16BE(2);

  // A backlog of 0 still takes one connection; further ones get no answer to their SYN.
  const filler: Socket = connect(port, '127.0.0.1');
  filler.on('error', () => {});
  await new Promise<void>((resolve) => {
    filler.once('connect', resolve);
  });
  return {
    port,
    stop() {
      filler.destroy();
      symbols.close(fd);
    },
  };
}
