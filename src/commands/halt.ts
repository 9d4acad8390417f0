/** `halt` and `resume`: the kill switch. While it is on, sends get `platform_halted` and the queue rests. */
import type { Command } from './command.ts';
import { operate } from './operate.ts';
import { sentence } from './parameter.ts';

const REASON = sentence('reason', 'R', 'One sentence, shown to everyone whose send is refused');

export const halt: Command = {
  summary: 'Stop all sending at once',
  details:
    'Sends get the error platform_halted and nothing is delivered, also after a restart, until postrider resume.',
  parameters: [REASON],
  async run(call) {
    const state = await operate(call, 'halt', { reason: call.get(REASON) });
    call.print(state, `Sending is halted: ${state.reason}`);
  },
};

export const resume: Command = {
  summary: 'End a halt',
  async run(call) {
    const state = await operate(call, 'resume', {});
    call.print(state, state.was_halted ? 'Sending has resumed.' : 'Sending was not halted.');
  },
};
