/** Takes one step whose end means that something is on the disk: `on-disk.test.ts` records the calls. */
import { DiskReserve } from '../../../src/store/disk-reserve.ts';
import { masterKey, promoteKey, stageKey } from '../../../src/store/key-file.ts';
import { backUp } from '../../../src/store/sqlite/backup.ts';
import { restoreBackup } from '../../../src/store/sqlite/restore.ts';

const STEPS: Record<string, (dataDir: string, file: string) => unknown> = {
  key: masterKey,
  stage: (dataDir) => stageKey(dataDir),
  promote: promoteKey,
  reserve: (dataDir) => new DiskReserve(dataDir).fill(),
  backup: backUp,
  restore: (dataDir, file) => restoreBackup(file, dataDir, Date.now()),
};

const [step = '', dataDir = '', file = ''] = process.argv.slice(2);
const take = STEPS[step];
if (take === undefined) throw new Error(`no step ${step}`);
await take(dataDir, file);
