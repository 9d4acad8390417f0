/**
 * `completion`: a script that completes commands, actions, options, choices and file names in a shell.
 *
 * Promises that the script holds everything it offers: pressing TAB starts no process and reads no data.
 */
import type { Command, CommandTable } from './command.ts';
import { bashScript, fishScript, zshScript } from './completion-scripts.ts';
import { UsageError, argument } from './parameter.ts';

const SCRIPTS: Readonly<Record<string, (table: CommandTable) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
const SHELLS = Object.keys(SCRIPTS);
const SHELL = argument('SHELL', `One of ${SHELLS.join(', ')}`, { completion: SHELLS });

/** `table` is called when the command runs: it holds this command, too. */
export function completionOf(table: () => CommandTable): Command {
  return {
    summary: 'Print a script that completes commands in your shell',
    details:
      'For this shell only: source <(postrider completion bash). To keep it, write it to /etc/bash_completion.d/postrider, to a file named _postrider in a folder of $fpath (zsh), or to ~/.config/fish/completions/postrider.fish.',
    parameters: [SHELL],
    run(call) {
      const shell = call.get(SHELL);
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined) {
        throw new UsageError(`SHELL must be one of ${SHELLS.join(', ')}, not "${shell}".`);
      }
      const text = script(table());
      call.print({ shell, script: text }, text.trimEnd());
      return Promise.resolve();
    },
  };
}
