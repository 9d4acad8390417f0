/** `reload`: a running server takes over its config file and certificates, or says why it does not. */
import type { Command } from './command.ts';
import { paragraph } from './layout.ts';
import { operate } from './operate.ts';

export const reload: Command = {
  summary: 'Make the running server read its config and certificates again',
  details:
    'The server takes over everything or, when there is a problem, nothing. SIGHUP does the same.',
  async run(call) {
    const done = await operate(call, 'reload', {});
    const lines = [`Reloaded${done.new_certificate ? ', with a new certificate' : ''}.`];
    if (done.needs_restart.length > 0) {
      const keys = done.needs_restart.join(', ');
      lines.push(paragraph(`These changed keys need a restart: ${keys}`));
    }
    call.print(done, lines.join('\n'));
  },
};
