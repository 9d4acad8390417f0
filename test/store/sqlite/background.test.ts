/** The background thread: what is asked of it fails when it dies, and the next question reaches a new one. */
import { afterEach, expect, test } from 'bun:test';
import { newAccount, newSuppression } from '../samples.ts';
import type { LogLine } from '../../rig/binary.ts';
import { openTestStore, withDir } from '../test-store.ts';

const RealWorker = globalThis.Worker;

afterEach(() => {
  globalThis.Worker = RealWorker;
});

test('a thread that dies fails what waits for it, and lists go on with another', () =>
  withDir(async (dir) => {
    const started: { worker: Worker; file: string }[] = [];
    globalThis.Worker = class extends RealWorker {
      constructor(...args: ConstructorParameters<typeof RealWorker>) {
        super(...args);
        started.push({ worker: this, file: String(args[0]).split('/').at(-1) ?? '' });
      }
    };
    const lines: Pick<LogLine, 'event'>[] = [];
    const log = { info() {}, warn() {}, error: (event: string) => void lines.push({ event }) };
    const store = await openTestStore(dir, log);
    const account = newAccount('default');
    await store.createAccount(account);
    await store.addSuppression(newSuppression(account.id, 'ann@example.org'));
    const list = () =>
      store.suppressions(account.id, 'ann', { limit: 10, after: null, before: null });
    expect((await list()).rows).toHaveLength(1);

    const first = started.find(({ file }) => file === 'background.ts');
    const waiting = list();
    first?.worker.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }));
    expect(waiting).rejects.toThrow('out of memory');
    first?.worker.terminate();
    expect(lines).toEqual([{ event: 'background_thread_died' }]);

    expect((await list()).rows).toHaveLength(1);
    expect(started.filter(({ file }) => file === 'background.ts')).toHaveLength(2);
    await store.close();
  }));
