/**
 * Asks the operator's rspamd for the spam score of captured messages, when somebody wants to see one.
 *
 * Promises that nothing is sent anywhere unless `[inbox] rspamd_url` names a host, and then to that host alone; that a
 * caller waits `TIMEOUT_MS` at most; that at most `MAX_AT_ONCE` questions are under way, whoever asks; and that one
 * message is asked about once a minute at most. Keeps the last `MAX_KEPT` results in memory. Every end is a value.
 */
import type { Context } from '../context.ts';
import { readExtraCa } from '../extra-ca.ts';
import { operatorPost } from '../../wire/https/operator-post.ts';
import type { CapturedMessage } from './capture.ts';
import { readSpamAnswer, type SpamScore } from './spam-answer.ts';

const TIMEOUT_MS = 5_000;
const MAX_AT_ONCE = 4;
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_ANSWER_BYTES = 256 * 1024;
const MAX_KEPT = 50;
/** How long a result is shown again, in milliseconds; a failure for less, since somebody is about to repair it. */
const FRESH_MS = 60_000;
const FAILURE_FRESH_MS = 5_000;

export type SpamCheck =
  /** No rspamd is configured. */
  | { kind: 'off' }
  | { kind: 'too_large'; maxBytes: number }
  /** Too many questions are under way. */
  | { kind: 'busy' }
  /** `reason`: fixed words. `statusCode`: of an answer that was none of rspamd's; else null. */
  | { kind: 'failed'; url: string; reason: string; statusCode: number | null }
  | { kind: 'scored'; at: number; score: SpamScore };

interface Kept {
  url: string;
  result: Promise<SpamCheck>;
  /** Steady time. */
  until: number;
}

export class SpamChecks {
  readonly #ctx: Pick<Context, 'config' | 'clock' | 'resolver'>;
  readonly #timeoutMs: number;
  readonly #ca: readonly string[];
  /** By the number of the message, the oldest first. */
  readonly #kept = new Map<number, Kept>();
  #underWay = 0;

  /** Throws `OperatorError` when the extra CA cannot be read. */
  constructor(ctx: Pick<Context, 'config' | 'clock' | 'resolver'>, timeoutMs = TIMEOUT_MS) {
    this.#ctx = ctx;
    this.#timeoutMs = timeoutMs;
    this.#ca = readExtraCa(ctx.config.startup.tls.extraCaFile);
  }

  /** What rspamd says of `message` now, or said a moment ago. */
  check(message: CapturedMessage): Promise<SpamCheck> {
    const url = this.#ctx.config.live.inbox.rspamdUrl;
    if (url === null) return Promise.resolve({ kind: 'off' });
    if (message.raw.length > MAX_MESSAGE_BYTES) {
      return Promise.resolve({ kind: 'too_large', maxBytes: MAX_MESSAGE_BYTES });
    }
    const kept = this.#kept.get(message.number);
    if (kept?.url === url && this.#ctx.clock.steady() < kept.until) return kept.result;
    if (this.#underWay >= MAX_AT_ONCE) return Promise.resolve({ kind: 'busy' });
    const asked: Kept = { url, result: this.#ask(url, message), until: Infinity };
    this.#keep(message.number, asked);
    return asked.result.then((result) => {
      const freshMs = result.kind === 'scored' ? FRESH_MS : FAILURE_FRESH_MS;
      asked.until = this.#ctx.clock.steady() + freshMs;
      return result;
    });
  }

  #keep(number: number, asked: Kept): void {
    this.#kept.delete(number);
    this.#kept.set(number, asked);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }

  async #ask(url: string, message: CapturedMessage): Promise<SpamCheck> {
    this.#underWay += 1;
    try {
      const answer = await operatorPost({
        url: `${url}/checkv2`,
        headers: envelopeOf(message),
        body: message.raw,
        timeoutMs: this.#timeoutMs,
        maxResponseBytes: MAX_ANSWER_BYTES,
        resolver: this.#ctx.resolver,
        ca: this.#ca,
      });
      if (answer.kind === 'failed') return { ...answer, url, statusCode: null };
      const { statusCode, body } = answer;
      const fail = (reason: string): SpamCheck => ({ kind: 'failed', url, reason, statusCode });
      if (statusCode !== 200) return fail(`it answered with status ${statusCode}`);
      const score = readSpamAnswer(body);
      if (score === null) return fail('what it answered is not what rspamd answers');
      return { kind: 'scored', at: this.#ctx.clock.now(), score };
    } finally {
      this.#underWay -= 1;
    }
  }
}

/**
 * The headers of rspamd's HTTP protocol that are known here. Of no sending server is there an address or a name: rspamd
 * then leaves out the rules about them.
 */
function envelopeOf({ returnPath, recipient }: CapturedMessage): Record<string, string> {
  return {
    'content-type': 'message/rfc822',
    from: headerValue(returnPath === '' ? '<>' : returnPath),
    rcpt: headerValue(recipient),
    // Shows what every rule says, also of a message that some refuse already.
    pass: 'all',
  };
}

/** UTF-8, which node:http writes as it is only in this form; a control character can end no header. */
function headerValue(address: string): string {
  // oxlint-disable-next-line no-control-regex -- finding control characters is the point
  return Buffer.from(address.replace(/[\x00-\x1f\x7f]/g, ''), 'utf8').toString('latin1');
}
