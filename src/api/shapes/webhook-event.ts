/**
 * The bodies of webhook calls, for the reference document: one schema for each event that is sent.
 *
 * flow/events.ts writes these bodies once for each event; `test/api/reference/webhooks.test.ts` compares the two.
 * Holds no behaviour: nothing is validated by these schemas while mail flows.
 */
import { Type, type TProperties } from '@sinclair/typebox';
import { Id, nullable, Time, words } from './common.ts';

const BOUNCE_TYPES = ['Permanent', 'Transient', 'Undetermined'] as const;
const BOUNCE_SUB_TYPES = [
  'General',
  'NoEmail',
  'MailboxFull',
  'MessageTooLarge',
  'ContentRejected',
  'AttachmentRejected',
  'PolicyBlocked',
] as const;

const data = {
  email_id: Id,
  created_at: Time,
  from: Type.String({ examples: ['Shop <shop@example.com>'] }),
  to: Type.Array(Type.String(), {
    description:
      'The recipient that the event is about; all of them for one about the whole email.',
    examples: [['ann@example.com']],
  }),
  subject: Type.String({ examples: ['Your receipt'] }),
  message_id: nullable(Type.String({ examples: ['<01913c7e@example.com>'] })),
  tags: Type.Record(Type.String(), Type.String(), { examples: [{ kind: 'receipt' }] }),
  headers: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
      description: "The email's own `X-Tags` and `X-Metadata`; absent when it has neither.",
    }),
  ),
  recipient: nullable(
    Type.String({
      description: 'The address that the event is about; null for one about the whole email.',
      examples: ['ann@example.com'],
    }),
  ),
};

/** What happened, and what its `data` has beyond that of every event. */
interface SentEvent {
  summary: string;
  extra: TProperties;
}

const delay = Type.Object({
  message: Type.String({ examples: ['451 4.7.1 Try again later'] }),
  attempt: Type.Integer({ minimum: 1 }),
  next_attempt_at: Time,
});

const bounce = Type.Object({
  type: words(BOUNCE_TYPES),
  subType: words(BOUNCE_SUB_TYPES),
  message: Type.String({
    description: "The reply of the recipient's server, and behind it the type of bounce in words.",
    examples: ['550 5.1.1 No such user (permanent bounce message)'],
  }),
});

const failed = Type.Object({
  reason: Type.String({ examples: ['No mail server could be reached.'] }),
});

/** Every event that is sent about an email (docs/contract.md C8.3 to C8.9). */
const EMAIL_EVENTS: Record<string, SentEvent> = {
  'email.sent': { summary: 'The email is signed and its first attempt has begun', extra: {} },
  'email.delivered': { summary: "The recipient's mail server accepted the email", extra: {} },
  'email.delivery_delayed': {
    summary: 'The delivery is tried again after a temporary failure',
    extra: { delay },
  },
  'email.bounced': { summary: "The recipient's server refused the email", extra: { bounce } },
  'email.failed': { summary: 'The email could not be sent', extra: { failed } },
  'email.complained': {
    summary: 'The recipient marked the email as spam',
    extra: {
      complaint: Type.Object({ feedback_type: Type.String({ examples: ['abuse'] }) }),
    },
  },
};

/** One event as the document shows it: its type, a sentence, the schema of its body. */
export const WEBHOOK_BODIES = [
  ...Object.entries(EMAIL_EVENTS).map(([type, { summary, extra }]) => ({
    type,
    summary,
    schema: body(type, { ...data, ...extra }),
  })),
  {
    type: 'webhook.test',
    summary: 'A test that POST /webhooks/{id}/test asked for',
    schema: body('webhook.test', { webhook_id: Id }),
  },
];

function body(type: string, properties: TProperties) {
  const title = type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Type.Object(
    { type: Type.Literal(type), created_at: Time, data: Type.Object(properties) },
    { title: `${title}Event` },
  );
}
