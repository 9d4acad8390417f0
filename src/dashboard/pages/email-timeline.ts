/**
 * What happened to an email, in its order: accepted, each attempt with server, TLS and reply, reports, the webhook calls
 * of each event, and what comes next.
 *
 * An event that an attempt raised stands with that attempt. Each reason is said once: a reply that stands above is not
 * repeated, and attempts of a recipient that had the same end one after the other are one entry. With one recipient its
 * address is left out. Bounded: of a long story the beginning and the end are shown.
 */
import type { TlsFacts } from '../../flow/outcome/kinds.ts';
import { STAGE_WORDS } from '../../flow/outcome/text.ts';
import type { Attempt, Event, Message, Recipient } from '../../store/rows.ts';
import type { MessageCall } from '../../store/webhooks.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { accountPath } from '../frame/navigation.ts';
import { timeline, type Moment } from '../frame/table.ts';
import { badge, count, lines, time, type Tone } from '../frame/values.ts';
import { isWaiting } from './email-headline.ts';

const MOST_MOMENTS = 120;
const FIRST_MOMENTS = 20;
/** From so many attempts with the same end on they are one entry. */
const FEWEST_IN_RUN = 3;

export interface Story {
  message: Message;
  recipients: readonly Recipient[];
  attempts: readonly Attempt[];
  events: readonly Event[];
  calls: readonly MessageCall[];
  /** Name of the key that sent it; null: none, or it is gone. */
  keyName: string | null;
  /** Reasons that the page shows above. */
  reasons: readonly string[];
}

/** A moment and when it was, for sorting. */
type Dated = Moment & { atMs: number };

/** The whole story, oldest first. */
export function timelineOf(story: Story): Html {
  const { attempts, events, recipients } = story;
  const said = new Set(
    attempts
      .map(({ reply }) => reply ?? '')
      .filter((reply) => story.reasons.some((reason) => reply !== '' && reason.includes(reply))),
  );
  const ofAttempt = new Map<string, Event[]>();
  const alone: Event[] = [];
  for (const event of events) {
    const key = attemptKey(event);
    if (key === null) alone.push(event);
    else ofAttempt.set(key, [...(ofAttempt.get(key) ?? []), event]);
  }
  const known = new Set(attempts.map(({ recipientId, number }) => `${recipientId} ${number}`));
  for (const [key, list] of ofAttempt) if (!known.has(key)) alone.push(...list);
  const past: Dated[] = [
    accepted(story),
    ...runsOf(attempts).map((run) => {
      const raised = run.flatMap(
        ({ recipientId, number }) => ofAttempt.get(`${recipientId} ${number}`) ?? [],
      );
      return attemptMoment(story, run, raised, said);
    }),
    ...alone
      .filter(({ type }) => type !== 'email.queued')
      .map((event) => eventMoment(story, event, said)),
    // Of one millisecond: what was accepted, then attempts, then other events.
  ].sort((a, b) => a.atMs - b.atMs);
  const moments = [
    ...shortened(past),
    ...recipients
      .filter(isWaiting)
      .slice(0, FIRST_MOMENTS)
      .map((recipient) => nextMoment(story, recipient)),
  ];
  return timeline(moments);
}

/** Attempts that had the same end one after the other, by recipient; those that are too few stand alone. */
function runsOf(attempts: readonly Attempt[]): Run[] {
  const runs: Attempt[][] = [];
  const latest = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    const run = latest.get(attempt.recipientId);
    if (run !== undefined && isSameEnd(run[0], attempt)) {
      run.push(attempt);
      continue;
    }
    const next = [attempt];
    latest.set(attempt.recipientId, next);
    runs.push(next);
  }
  return runs.flatMap((run): Run[] =>
    run.length < FEWEST_IN_RUN ? run.map((one): Run => [one]) : [run as [Attempt, ...Attempt[]]],
  );
}

/** At least one attempt. */
type Run = readonly [Attempt, ...Attempt[]];

function isSameEnd(one: Attempt | undefined, other: Attempt): boolean {
  return (
    one?.outcome === 'deferred' &&
    other.outcome === 'deferred' &&
    one.reply === other.reply &&
    one.host === other.host &&
    one.address === other.address
  );
}

function shortened(past: readonly Dated[]): Moment[] {
  if (past.length <= MOST_MOMENTS) return [...past];
  const left = past.length - MOST_MOMENTS;
  const gap: Moment = {
    at: null,
    tone: 'neutral',
    title: `${count(left, 'entry', 'entries')} not shown here; the API has them all`,
  };
  return [...past.slice(0, FIRST_MOMENTS), gap, ...past.slice(FIRST_MOMENTS + left)];
}

function accepted({ message, recipients, keyName, events, calls }: Story): Dated {
  const log =
    message.logId === null
      ? null
      : html`<a href="${accountPath({ id: message.accountId })}/logs/${message.logId}">request</a>`;
  const by = keyName === null ? null : html`with the key “${keyName}”`;
  const queued = events.filter(({ type }) => type === 'email.queued');
  return {
    atMs: message.createdAt,
    at: time(message.createdAt),
    tone: 'neutral',
    title: `Accepted for ${count(recipients.length, 'recipient')}`,
    detail: lines([(by ?? log) && html`${by} ${log}`, ...eventLines(message, queued, calls)]),
  };
}

const OUTCOMES: Readonly<Record<Attempt['outcome'], readonly [words: string, tone: Tone]>> = {
  delivered: ['delivered', 'good'],
  sent: ['handed to the smarthost', 'good'],
  deferred: ['not now', 'fair'],
  failed: ['refused for good', 'bad'],
};

/** One attempt, or several that had the same end. */
function attemptMoment(story: Story, run: Run, raised: readonly Event[], said: Set<string>): Dated {
  const [attempt] = run;
  const last = run.at(-1) ?? attempt;
  const [words, tone] = OUTCOMES[attempt.outcome];
  const reply = attempt.reply ?? '';
  const isSaid = said.has(reply);
  said.add(reply);
  const isDelivered = attempt.outcome === 'delivered' || attempt.outcome === 'sent';
  const isRun = run.length > 1;
  return {
    atMs: attempt.endedAt,
    at: isRun ? html`${time(attempt.endedAt)} to ${time(last.endedAt)}` : time(attempt.endedAt),
    tone,
    title: titleOf(story, attempt.recipientId, isRun ? `${words}, ${run.length} times` : words),
    detail: lines([
      isRun
        ? html`Attempts ${attempt.number} to ${last.number}${whereOf(attempt)}`
        : html`Attempt ${attempt.number}${tookWords(attempt)}${whereOf(attempt)}`,
      reply !== '' &&
        (isSaid ? !isDelivered && 'The reason is shown above.' : html`<code>${reply}</code>`),
      attempt.class !== null && !isDelivered && classWords(attempt.class),
      run.some(({ mayBeDuplicate }) => mayBeDuplicate) &&
        'No reply came after the message was sent: the receiver may have it twice.',
      ...eventLines(story.message, raised, story.calls),
      isRun && eachOf(run),
    ]),
  };
}

/** Of several recipients it is said whom it was about. */
function titleOf({ recipients }: Story, recipientId: string | null, words: string): string {
  const address = recipients.find(({ id }) => id === recipientId)?.address;
  return recipients.length > 1 && address !== undefined ? `${address}: ${words}` : sentence(words);
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function eachOf(run: Run): Html {
  return html`<details>
    <summary>Each attempt</summary>
    <ul class="plain-list">
      ${run.map(
        ({ number, endedAt, beganAt }) =>
          html`<li>${number}: ${time(endedAt)}, ${endedAt - beganAt} ms</li>`,
      )}
    </ul>
  </details>`;
}

const CLASSES: Readonly<Record<string, string>> = {
  recipient: 'The address does not exist, or takes no mail.',
  mailbox_full: 'The mailbox is full.',
  content: 'The receiver refuses the content.',
  policy: 'A rule of the receiver forbids it.',
  reputation: 'The receiver does not trust this server or domain enough.',
  rate: 'Too much at once for the receiver.',
  network: 'The receiver could not be reached.',
  protocol: 'The session with the receiver went wrong.',
  ours: 'The fault is on this server.',
};

/** What kind of refusal it was; nothing where nobody knows. */
function classWords(name: string): string | null {
  return CLASSES[name] ?? null;
}

function tookWords({ stage, beganAt, endedAt }: Attempt): string {
  return stage === 'throttled' ? '' : `, ${endedAt - beganAt} ms`;
}

function whereOf({ host, address, tls, stage }: Attempt): HtmlValue {
  if (stage === 'throttled') return ', not dialled: the receiver had asked to slow down';
  if (host === null) return `, at ${STAGE_WORDS[stage as keyof typeof STAGE_WORDS] ?? stage}`;
  const at = address === null || address === host ? host : `${host} [${address}]`;
  return `, ${at}, ${tlsWords(tls)}`;
}

/** The stored facts of TLS (`TlsFacts` of `flow/outcome/kinds.ts`) in words. */
function tlsWords(tls: string | null): string {
  if (tls === null) return 'without TLS';
  const { version, verified, policy } = JSON.parse(tls) as Partial<TlsFacts>;
  const rule = policy === undefined || policy === 'opportunistic' ? '' : ` (${policy})`;
  return `${version ?? 'TLS'}, certificate ${verified === true ? 'verified' : 'not verified'}${rule}`;
}

const EVENTS: Readonly<Record<Event['type'], readonly [words: string, tone: Tone]>> = {
  'email.queued': ['queued', 'neutral'],
  'email.sent': ['sent', 'good'],
  'email.delivered': ['delivered', 'good'],
  'email.delivery_delayed': ['delayed', 'fair'],
  'email.bounced': ['bounced', 'bad'],
  'email.complained': ['marked as spam', 'bad'],
  'email.failed': ['failed', 'bad'],
  'email.suppressed': ['not sent: suppressed', 'fair'],
};

function eventMoment(story: Story, event: Event, said: Set<string>): Dated {
  const facts = factsOf(event);
  const [words, tone] = EVENTS[event.type];
  const isReport = facts['via'] === 'report';
  const reason = [facts['reply'], facts['cause'], facts['reason']].find(
    (value): value is string => typeof value === 'string' && value !== '',
  );
  const isSaid =
    reason === undefined || said.has(reason) || story.reasons.some((one) => one.includes(reason));
  if (reason !== undefined) said.add(reason);
  return {
    atMs: event.occurredAt,
    at: time(event.occurredAt),
    tone,
    title: titleOf(story, event.recipientId, words),
    detail: lines([
      isReport && 'A report of the receiver came back.',
      !isSaid && html`<code>${reason}</code>`,
      ...eventLines(story.message, [event], story.calls),
    ]),
  };
}

/** The events of a moment by name, those that were told to nobody in one line, and each webhook call. */
function eventLines(
  message: Message,
  events: readonly Event[],
  calls: readonly MessageCall[],
): Html[] {
  const told = new Set(calls.map(({ eventId }) => eventId));
  const names = events.filter(({ id }) => !told.has(id)).map(({ type }) => type);
  const links = events
    .filter(({ id }) => told.has(id))
    .map((event) => {
      const own = calls.filter(({ eventId }) => eventId === event.id);
      return html`<span class="event">${event.type}</span>
        ${own.map((call) => callLine(message, call))}`;
    });
  const quiet = html`<span class="event">${counted(names).join(', ')}</span>`;
  return names.length === 0 ? links : [quiet, ...links];
}

/** `email.sent`, `email.delivery_delayed (4 times)`. */
function counted(names: readonly string[]): string[] {
  return Array.from(new Set(names), (name) => {
    const times = names.filter((one) => one === name).length;
    return times === 1 ? name : `${name} (${times} times)`;
  });
}

function callLine(message: Message, call: MessageCall): Html {
  return html`<span class="call"
    >${badge(call.status, CALL_TONES[call.status])}
    <a href="${accountPath({ id: message.accountId })}/webhooks/${call.endpointId}">${call.url}</a>
    ${callWords(call)}</span
  >`;
}

const CALL_TONES = { done: 'good', failed: 'bad', open: 'fair' } as const;

function callWords({ status, attempts, nextAttemptAt }: MessageCall): HtmlValue {
  if (status === 'done' && attempts === 1) return null;
  const times = attempts === 0 ? 'not posted yet' : `after ${count(attempts, 'attempt')}`;
  return status === 'open' && nextAttemptAt !== null
    ? html`${times}, next at ${time(nextAttemptAt)}`
    : times;
}

function nextMoment(story: Story, recipient: Recipient): Moment {
  return {
    at: time(recipient.nextAttemptAt),
    tone: 'neutral',
    title: titleOf(story, recipient.id, `attempt ${recipient.attempts + 1} is next`),
    detail: html`Given up at ${time(recipient.expiresAt)} if nothing helps.`,
  };
}

/** Which attempt raised the event; null for what came by a report, an operator or at acceptance. */
function attemptKey(event: Event): string | null {
  if (event.recipientId === null) return null;
  const { attempt, stage } = factsOf(event);
  const isOfAttempt = event.type === 'email.sent' || typeof stage === 'string';
  return isOfAttempt && typeof attempt === 'number' ? `${event.recipientId} ${attempt}` : null;
}

function factsOf({ payload }: Event): Record<string, unknown> {
  return payload === null ? {} : (JSON.parse(payload) as Record<string, unknown>);
}
