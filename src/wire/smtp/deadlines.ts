/**
 * How long each stage of an SMTP session may take (RFC 5321 section 4.5.3.2; docs/reliability.md R12).
 *
 * Promises absolute times: a stage ends when its time is over, however many bytes drip in meanwhile. Figures only;
 * the dialogue enforces them.
 */

/** Where in a session something happened, in the order of a session. */
export const STAGES = [
  'connect',
  'banner',
  'ehlo',
  'starttls',
  'handshake',
  'ehlo2',
  'auth',
  'mail',
  'rcpt',
  'data',
  'body',
  'dot',
  'rset',
  'quit',
] as const;

export type Stage = (typeof STAGES)[number];

/** Milliseconds of each stage, from the moment the command was handed to the socket; body: for each block. */
export interface Deadlines extends Readonly<Record<Stage, number>> {
  /** Bytes a second below which the whole of a body is too slow. */
  readonly bodyBytesPerSecond: number;
}

const SECOND_MS = 1000;

/** RFC 5321 section 4.5.3.2. It does not mention connect, handshake, RSET and QUIT: those are Postfix's. */
export const PRODUCTION_DEADLINES: Deadlines = {
  connect: 30 * SECOND_MS,
  banner: 300 * SECOND_MS,
  ehlo: 300 * SECOND_MS,
  starttls: 300 * SECOND_MS,
  handshake: 120 * SECOND_MS,
  ehlo2: 300 * SECOND_MS,
  auth: 300 * SECOND_MS,
  mail: 300 * SECOND_MS,
  rcpt: 300 * SECOND_MS,
  data: 120 * SECOND_MS,
  body: 180 * SECOND_MS,
  dot: 600 * SECOND_MS,
  rset: 20 * SECOND_MS,
  quit: 5 * SECOND_MS,
  bodyBytesPerSecond: 500,
};

/** The same with at most `stageMs` milliseconds for each stage: for a check that a person waits for. */
export function withMaxStage(deadlines: Deadlines, stageMs: number): Deadlines {
  const shortened = { ...deadlines };
  for (const stage of STAGES) shortened[stage] = Math.min(deadlines[stage], stageMs);
  return shortened;
}

/** Milliseconds within which a body of `bytes` must have been taken: one block's grace and the rate floor. */
export function bodyDeadlineMs(deadlines: Deadlines, bytes: number): number {
  return deadlines.body + Math.ceil((bytes * SECOND_MS) / deadlines.bodyBytesPerSecond);
}
