/** Every command by its name, in the order of the help. */
import { account } from './account.ts';
import { backup, restore } from './backup.ts';
import { check } from './check.ts';
import type { Group } from './command.ts';
import { doctor } from './doctor.ts';
import { domain } from './domain.ts';
import { halt, resume } from './halt.ts';
import { init } from './init.ts';
import { key } from './key.ts';
import { queue } from './queue.ts';
import { reload } from './reload.ts';
import { serve } from './serve.ts';
import { suppression } from './suppression.ts';
import { version } from './version.ts';
import { webhook } from './webhook.ts';

export const COMMANDS: Readonly<Record<string, Group>> = {
  init: { '': init },
  serve: { '': serve },
  reload: { '': reload },
  check: { '': check },
  doctor: { '': doctor },
  account,
  key,
  domain,
  queue,
  suppression,
  webhook,
  halt: { '': halt },
  resume: { '': resume },
  backup: { '': backup },
  restore: { '': restore },
  version: { '': version },
};
