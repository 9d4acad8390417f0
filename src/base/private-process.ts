/**
 * What keeps a process to its owner: files that nobody else may read, and no core file with its keys.
 *
 * Promises that every file made from then on is the owner's alone unless its maker says otherwise. Core files
 * are given up where libc can be called under its usual name (not on musl); the unit says the same. Never
 * throws.
 */
import { dlopen, ptr } from 'bun:ffi';

/** getrlimit(2), on every architecture that is built for. */
const RLIMIT_CORE = 4;

/** Call once, before anything is opened. */
export function keepProcessPrivate(): void {
  process.umask(0o077);
  try {
    const libc = dlopen('libc.so.6', { setrlimit: { args: ['int', 'ptr'], returns: 'int' } });
    // struct rlimit: soft and hard limit. Others may then not raise it again.
    libc.symbols.setrlimit(RLIMIT_CORE, ptr(BigUint64Array.of(0n, 0n)));
    libc.close();
  } catch {
    // Another libc: whoever starts the process sets the limit.
  }
}
