/**
 * The process: runs the command line and ends with its exit code. commands/list.ts tells how a command is found and run.
 *
 * Never waits for a timer or thread that a command has left behind. A fault of ours ends with 1 and its stack.
 */
import { keepProcessPrivate } from './base/private-process.ts';
import { COMMANDS } from './commands/list.ts';
import { terminal } from './commands/output.ts';
import { runProgram } from './commands/program.ts';

keepProcessPrivate();
// A worker of a store that failed to open must not keep the process.
process.exit(await runProgram(COMMANDS, process.argv.slice(2), terminal));
