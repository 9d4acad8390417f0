/** `password`: a new password for the dashboard, made here or read from standard input. */
import type { Command } from './command.ts';
import { operate } from './operate.ts';
import { UsageError, flag } from './parameter.ts';

const STDIN = flag('stdin', 'Read the password from the first line of standard input');

export const password: Command = {
  summary: 'Set a new password for the dashboard',
  details:
    'Makes one and shows it once, unless --stdin is given. Ends every session of the dashboard, so it also helps when a browser was lost.',
  parameters: [STDIN],
  async run(call) {
    const [own = ''] = call.get(STDIN) ? (await Bun.stdin.text()).split(/\r?\n/) : [];
    if (call.get(STDIN) && own === '') {
      throw new UsageError('Standard input has no password: write one line to it.');
    }
    const done = await operate(call, 'password.set', { password: own === '' ? null : own });
    const ended = 'Every session of the dashboard has ended.';
    const words =
      done.password === null
        ? `The password is set. ${ended}`
        : `${done.password}\n\nThis is the new password; it is not shown again. ${ended}`;
    call.print({ password: done.password, sessions_ended: true }, words);
  },
};
