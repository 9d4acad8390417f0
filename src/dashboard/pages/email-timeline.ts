/**
 * What happened to an email, in its order: accepted, each attempt with server, TLS and reply, reports, the webhook calls
 * of each event, and what comes next.
 *
 * An event that an attempt raised stands with that attempt. Each reason is said once: a reply that stands above, or that
 * the last attempt got too, is not repeated. Bounded: of a long story the beginning and the end are shown.
 */
import type { TlsFacts } from '../../flow/outcome/kinds.ts';
import type { Attempt, Event, Message, Recipient } from '../../store/rows.ts';
import type { MessageCall } from '../../store/webhooks.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { accountPath } from '../frame/navigation.ts';
import { timeline, type Moment } from '../frame/table.ts';
import { badge, count, lines, time, type Tone } from '../frame/values.ts';
import { isWaiting } from './email-headline.ts';

const MOST_MOMENTS = 120;
const FIRST_MOMENTS = 20;

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

/** A moment and when it was, for sorting. `order` decides between moments of one millisecond. */
type Dated = Moment & { atMs: number; order: number };

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
    ...attempts.map((attempt) => {
      const raised = ofAttempt.get(`${attempt.recipientId} ${attempt.number}`) ?? [];
      return attemptMoment(story, attempt, raised, said);
    }),
    ...alone
      .filter(({ type }) => type !== 'email.queued')
      .map((event) => eventMoment(story, event, said)),
  ].sort((a, b) => a.atMs - b.atMs || a.order - b.order);
  const moments = [
    ...shortened(past),
    ...recipients.filter(isWaiting).slice(0, FIRST_MOMENTS).map(nextMoment),
  ];
  return timeline(moments);
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
    order: 0,
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

function attemptMoment(
  story: Story,
  attempt: Attempt,
  raised: readonly Event[],
  said: Set<string>,
): Dated {
  const [words, tone] = OUTCOMES[attempt.outcome];
  const address = story.recipients.find(({ id }) => id === attempt.recipientId)?.address ?? '';
  const reply = attempt.reply ?? '';
  const isSaid = said.has(reply);
  said.add(reply);
  const isDelivered = attempt.outcome === 'delivered' || attempt.outcome === 'sent';
  return {
    atMs: attempt.endedAt,
    order: 1,
    at: time(attempt.endedAt),
    tone,
    title: `${address}: ${words}`,
    detail: lines([
      html`Attempt ${attempt.number}, ${attempt.endedAt - attempt.beganAt} ms${whereOf(attempt)}`,
      reply !== '' &&
        (isSaid
          ? !isDelivered && 'With the reason that stands above.'
          : html`<code>${reply}</code>`),
      attempt.class !== null && !isDelivered && `Kind: ${attempt.class.replaceAll('_', ' ')}`,
      attempt.mayBeDuplicate &&
        'No reply came after the message was sent: the receiver may have it twice.',
      ...eventLines(story.message, raised, story.calls),
    ]),
  };
}

function whereOf({ host, address, tls, stage }: Attempt): HtmlValue {
  if (host === null) return `, at ${stage}`;
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
  const address = typeof facts['recipient'] === 'string' ? facts['recipient'] : null;
  return {
    atMs: event.occurredAt,
    order: 2,
    at: time(event.occurredAt),
    tone,
    title: address === null ? words : `${address}: ${words}`,
    detail: lines([
      isReport && 'A report of the receiver came back.',
      !isSaid && html`<code>${reason}</code>`,
      ...eventLines(story.message, [event], story.calls),
    ]),
  };
}

/** The events of a moment by name, each with its webhook calls. */
function eventLines(
  message: Message,
  events: readonly Event[],
  calls: readonly MessageCall[],
): Html[] {
  return events.map((event) => {
    const own = calls.filter(({ eventId }) => eventId === event.id);
    const links = own.map(
      (call) =>
        html`<span class="line call"
          >${badge(call.status, CALL_TONES[call.status])}
          <a href="${accountPath({ id: message.accountId })}/webhooks/${call.endpointId}"
            >${call.url}</a
          >
          ${callWords(call)}</span
        >`,
    );
    return html`<span class="event">${event.type}</span>${links}`;
  });
}

const CALL_TONES = { done: 'good', failed: 'bad', open: 'fair' } as const;

function callWords({ status, attempts, nextAttemptAt }: MessageCall): HtmlValue {
  const times = attempts === 0 ? 'not posted yet' : `after ${count(attempts, 'attempt')}`;
  return status === 'open' && nextAttemptAt !== null
    ? html`${times}, next at ${time(nextAttemptAt)}`
    : times;
}

function nextMoment(recipient: Recipient): Moment {
  return {
    at: time(recipient.nextAttemptAt),
    tone: 'neutral',
    title: `${recipient.address}: attempt ${recipient.attempts + 1} is next`,
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
