/**
 * Reads the one line of a request on the control socket.
 *
 * Promises a request of the known shape, or an `OperatorError`; what is parsed is small but for its texts, and other
 * work goes on while long texts are read: 30 MB of escapes took 0.3 s at once.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';

import { Value } from '@sinclair/typebox/value';

import { endOfString } from '../base/json.ts';
import { OperatorError } from '../base/errors.ts';
import { Request } from './protocol.ts';

/** What a request has at most beside what its texts hold: a file or an email is one text. */
const MAX_TEXTS = 1_000;
const MAX_OUTSIDE = 10_000;
/** Characters of a text that are read at once. */
const STRETCH = 500_000;
/** Characters of `\u0000`, the longest escape. */
const LONGEST_ESCAPE = 6;

/** Rejects with `OperatorError`. */
export async function parseRequest(line: string): Promise<Request> {
  try {
    const request = await parse(line);
    if (Value.Check(Request, request)) return request;
  } catch {
    // No JSON, or more of it than a request has: refused below.
  }
  throw new OperatorError(
    'The server cannot read the request on its control socket.',
    'Use the postrider command of the same version as the server.',
  );
}

/** Throws where the line is no JSON, or has many texts or much beside them: millions of lists take seconds to parse. */
async function parse(line: string): Promise<unknown> {
  // Long texts are read apart. Nobody else knows the names that stand for them.
  const secret = randomUUID();
  const long = new Map<unknown, string>();
  let short = '';
  let outside = 0;
  let at = 0;
  for (let texts = 0; texts <= MAX_TEXTS; texts += 1) {
    const open = line.indexOf('"', at);
    outside += (open === -1 ? line.length : open) - at;
    if (outside > MAX_OUTSIDE) throw new SyntaxError('too much beside the texts');
    if (open === -1) {
      return JSON.parse(short + line.slice(at), (_, value: unknown) => long.get(value) ?? value);
    }
    const close = endOfString(line, open);
    if (close === line.length) throw new SyntaxError('a text without an end');
    if (close - open > STRETCH) {
      const name = `${secret}-${texts}`;
      long.set(name, await readText(line, open + 1, close));
      short += `${line.slice(at, open)}"${name}"`;
    } else {
      short += line.slice(at, close + 1);
    }
    at = close + 1;
  }
  throw new SyntaxError('too many texts');
}

/** The text between two quotation marks. Throws where it is no JSON. */
async function readText(line: string, from: number, to: number): Promise<string> {
  const pieces: string[] = [];
  for (let at = from; at < to;) {
    await nextRound();
    const { piece, end } = readPiece(line, at, to);
    pieces.push(piece);
    at = end;
  }
  return pieces.join('');
}

/** A stretch that ends within an escape is no JSON: it is longer by what is missing of that. */
function readPiece(line: string, at: number, to: number): { piece: string; end: number } {
  for (let more = 0; ; more += 1) {
    const end = Math.min(at + STRETCH + more, to);
    try {
      return { piece: JSON.parse(`"${line.slice(at, end)}"`) as string, end };
    } catch (error) {
      if (end === to || more === LONGEST_ESCAPE - 1) throw error;
    }
  }
}
