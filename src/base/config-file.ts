/**
 * The config file: TOML in, a whole `Config` out, or every problem at once with its line. The story of the config's files:
 *
 * 1. `config-schema.ts` declares each key once, out of the formats of `config-formats.ts` and the nodes of
 *    `config-node.ts`.
 * 2. Here Bun parses the text, `config-table.ts` reads it by the schema, and `config-rules.ts` checks what keys say
 *    together. Only when there is a problem, `config-lines.ts` parses again for the lines.
 * 3. `config-text.ts` writes the schema down again, as the commented file of `init`.
 *
 * Promises that nothing is silently ignored: an unknown key, a wrong type, an impossible value and two keys that
 * contradict each other are all refused, with exit code 78 (EX_CONFIG of sysexits.h).
 */
import { readFileSync } from 'node:fs';

import type { Config } from './config.ts';
import { findKeyLines, lineOf } from './config-lines.ts';
import { freezeDeep, partOf } from './config-parts.ts';
import { checkTogether, clusterNameOf, plansOf, publicUrlOf, routesOf } from './config-rules.ts';
import { CONFIG_FILE } from './config-schema.ts';
import { Problems, readBySchema } from './config-table.ts';
import { EXIT_CONFIG, OperatorError } from './errors.ts';

/** Reads and checks `file`. Throws `OperatorError` with exit code 78. */
export function loadConfig(file: string): Config {
  let toml: string;
  try {
    toml = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `cannot read the config file ${file}: ${reason}`,
      'Name another file with --config, or write one with `postrider init --hostname mail.example.com`.',
      EXIT_CONFIG,
    );
  }
  return parseConfig(toml, file);
}

/** `file` is only a name for messages. Throws `OperatorError` with exit code 78. */
export function parseConfig(toml: string, file: string): Config {
  const problems = new Problems();
  const values = parseToml(toml, file);
  const read = readBySchema(CONFIG_FILE, values, problems);
  checkTogether(read, problems);
  if (problems.rows.length > 0) throw refusal(file, withLines(toml, problems));
  const live = partOf(CONFIG_FILE, read, 'live');
  return freezeDeep({
    startup: {
      ...partOf(CONFIG_FILE, read, 'startup'),
      cluster: { name: clusterNameOf(read) },
    },
    live: {
      ...live,
      http: { ...live.http, publicUrl: publicUrlOf(read.http) },
      delivery: { ...live.delivery, routes: routesOf(read.delivery) },
      plans: plansOf(read.plans),
    },
  });
}

interface Row {
  line: number;
  message: string;
}

function refusal(file: string, rows: Row[]): OperatorError {
  const sorted = rows.toSorted((a, b) => a.line - b.line);
  return new OperatorError(
    sorted.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'),
    `Fix ${rows.length === 1 ? 'this line' : 'these lines'}, then run \`postrider check\`.`,
    EXIT_CONFIG,
  );
}

function withLines(toml: string, problems: Problems): Row[] {
  const lines = findKeyLines(toml);
  return problems.rows.map(({ at, message }) => ({ line: lineOf(lines, at), message }));
}

function parseToml(toml: string, file: string): Record<string, unknown> {
  try {
    return Bun.TOML.parse(toml) as Record<string, unknown>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // It repeats the text that it could not read, which may be a password without its quotes.
    const message = reason.replaceAll(/: ".*"/gs, '');
    throw refusal(file, [{ line: lineOfSyntaxError(toml), message }]);
  }
}

/** Bun does not say where it stopped: it is the line after the longest beginning that parses. */
function lineOfSyntaxError(toml: string): number {
  const lines = toml.split('\n');
  for (let count = lines.length - 1; count > 0; count -= 1) {
    try {
      Bun.TOML.parse(lines.slice(0, count).join('\n'));
      return count + 1;
    } catch {
      // A shorter beginning, then.
    }
  }
  return 1;
}
