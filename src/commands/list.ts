/**
 * The commands: every one by its name, in the order of the help.
 *
 * `program` finds the command of the words that an operator typed, checks them against its parameters and runs it. Most
 * commands hand their work to `operate`: a running server does it over the control socket; without one the command locks
 * the data directory and does the same itself. `serve` is the exception: it builds the appliance and runs until a signal.
 * Results go to standard output, as tables that fit 80 columns or as one JSON value; messages go to standard error.
 * Of the appliance and the operations a command loads what it needs when it runs: most commands are done before all of
 * the program would be loaded.
 *
 * Promises exit codes 0, 1, 64 and 78, and that wrong usage is refused before anything is read or written. A command
 * that ends early, at whatever moment, leaves data that the next command or server can open.
 */
import { account } from './account.ts';
import { audit } from './audit.ts';
import { backup, restore } from './backup.ts';
import { check } from './check.ts';
import type { CommandTable } from './command.ts';
import { completionOf } from './completion.ts';
import { dev } from './dev.ts';
import { doctor } from './doctor.ts';
import { domain } from './domain.ts';
import { email } from './email.ts';
import { erase } from './erase.ts';
import { halt, resume } from './halt.ts';
import { init } from './init.ts';
import { key } from './key.ts';
import { log } from './log.ts';
import { migrate } from './migrate.ts';
import { node } from './node.ts';
import { operator, password } from './operator.ts';
import { queue } from './queue.ts';
import { recipient } from './recipient.ts';
import { rekey } from './rekey.ts';
import { reload } from './reload.ts';
import { send } from './send.ts';
import { serve } from './serve.ts';
import { suppression } from './suppression.ts';
import { tail } from './tail.ts';
import { version } from './version.ts';
import { webhook } from './webhook.ts';

export const COMMANDS: CommandTable = {
  init,
  serve,
  dev,
  reload,
  check,
  doctor,
  account,
  key,
  domain,
  send,
  email,
  tail,
  queue,
  suppression,
  recipient,
  webhook,
  log,
  erase,
  operator,
  password,
  audit,
  halt,
  resume,
  backup,
  restore,
  rekey,
  migrate,
  node,
  version,
  completion: completionOf(() => COMMANDS),
};
