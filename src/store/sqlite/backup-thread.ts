/** The thread of one backup: it is started for it, blocks for the length of the copy, and ends with it. */
import type { BackupRequest } from './background-messages.ts';
import { backUp } from './backup.ts';
import { answerCalls } from './thread-calls.ts';

answerCalls<BackupRequest>(
  async ({ dataDir, file }) => backUp(dataDir, file),
  () => true,
);
