/** `halt` and `resume`: the kill switch. Sends answer platform_halted, the queue rests; both survive a restart. */
import type { Command } from './command.ts';
import { operate } from './operate.ts';

export const halt: Command = {
  synopsis: '[--reason R]',
  does: 'The kill switch: sends answer platform_halted, the queue rests.',
  flags: { reason: 'text' },
  async run(call) {
    const state = (await operate(call, 'halt', { reason: call.flag('reason') })) as {
      reason: string;
    };
    call.print(state, `Halted: ${state.reason}`);
  },
};

export const resume: Command = {
  synopsis: '',
  does: 'Ends a halt.',
  async run(call) {
    const state = (await operate(call, 'resume', {})) as { was_halted: boolean };
    call.print(state, state.was_halted ? 'Sending goes on.' : 'It was not halted.');
  },
};
