/**
 * The process that the crash test kills: a dispatcher on the data directory of its first argument, trusting the
 * CA file of its second. Says `ready` once it runs, and then works until it is ended.
 */
import { startWebhookRig } from './webhook-rig.ts';

const [dataDir = '', caFile = ''] = process.argv.slice(2);
await startWebhookRig({ dataDir, caFile });
process.stdout.write('ready\n');
// The dispatcher's timers do not keep a process alive.
setInterval(() => undefined, 1_000);
