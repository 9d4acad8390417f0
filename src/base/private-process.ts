/**
 * Keeps the process private: files that only its owner may read, and no core file with its keys.
 *
 * Promises that every file created from then on belongs to the owner alone unless the code sets another mode.
 * Core files are switched off where libc has its usual name (not on musl); the systemd unit does the same. Never
 * throws.
 */
import { dlopen, ptr } from 'bun:ffi';

/** getrlimit(2): the same number on every architecture we build for. */
const RLIMIT_CORE = 4;

/** Call once, before anything is opened. */
export function keepProcessPrivate(): void {
  process.umask(0o077);
  try {
    const libc = dlopen('libc.so.6', { setrlimit: { args: ['int', 'ptr'], returns: 'int' } });
    // struct rlimit: soft and hard limit, so that nothing can raise it again.
    libc.symbols.setrlimit(RLIMIT_CORE, ptr(BigUint64Array.of(0n, 0n)));
    libc.close();
  } catch {
    // Another libc: the unit that starts the process sets the limit.
  }
}
