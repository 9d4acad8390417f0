/** A process that replaces the secret key and is killed at a step. Arguments: data directory, step ('' for none). */
import { openContext } from '../../src/appliance/context.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { rekey } from '../../src/flow/rekey.ts';

const [dataDir = '', at = ''] = process.argv.slice(2);
const config = parseConfig(`hostname = "mail.rig.test"\ndata_dir = "${dataDir}"`, 'test');
const log = createLog(
  () => undefined,
  () => Date.now(),
);
const ctx = await openContext(config, { clock: systemClock, log });
if (at === 'opened') process.kill(process.pid, 'SIGKILL');
await rekey(ctx, {
  endsLinks: false,
  onStep(step) {
    if (step === at) process.kill(process.pid, 'SIGKILL');
  },
});
process.exit(0);
