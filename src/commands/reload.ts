/** `reload`: a running server takes over its config file and certificates, or says why it does not. */
import type { Reloaded } from '../control/operation.ts';
import type { Command } from './command.ts';
import { paragraph } from './layout.ts';
import { operate } from './operate.ts';

export const reload: Command = {
  synopsis: '',
  does: 'Has the running server take over config and certificates, all or nothing, as SIGHUP does.',
  async run(call) {
    const done = (await operate(call, 'reload', {})) as Reloaded;
    const lines = [`Reloaded${done.new_certificate ? ', with a new certificate' : ''}.`];
    if (done.needs_restart.length > 0) {
      const keys = done.needs_restart.join(', ');
      lines.push(paragraph(`Changed, but taken over by a restart only: ${keys}`));
    }
    call.print(done, lines.join('\n'));
  },
};
