/**
 * The fields of the three sending routes, in both spellings.
 *
 * The schemas validate and make the reference page; `read-email.ts` reads by them. `REFUSED` lists fields that client
 * libraries offer and a route does not support, each with the words that say what to do instead.
 */
import { Type } from '@sinclair/typebox';
import { Address, AddressList } from './addresses.ts';
import { Attachment } from './attachments.ts';
import { must } from './check.ts';

/** Longest subject, in characters: one line of RFC 5322 section 2.1.1 before encoding. */
const MAX_SUBJECT_LENGTH = 998;
const MAX_TAGS = 50;
/** Header fields of one email beside those of the service. */
export const MAX_HEADERS = 100;
const MAX_ATTACHMENTS = 100;
/** The most that `[limits] recipients` can allow. */
const MAX_ADDRESSES = 1_000;

/** The longest lists that are looked at. */
export const LONGEST_LISTS: readonly (readonly [field: string, items: number])[] = [
  ['to', MAX_ADDRESSES],
  ['cc', MAX_ADDRESSES],
  ['bcc', MAX_ADDRESSES],
  ['reply_to', MAX_ADDRESSES],
  ['replyTo', MAX_ADDRESSES],
  ['attachments', MAX_ATTACHMENTS],
  ['tags', MAX_TAGS],
];

/** What a name or value of a tag is, after the name of the field. */
export const TAG_WORDS = 'must be 1 to 256 ASCII letters, digits, underscores and hyphens';
const Words = must(
  Type.String({ minLength: 1, maxLength: 256, pattern: '^[A-Za-z0-9_-]{1,256}$' }),
  TAG_WORDS,
);
const Tag = Type.Object({ name: Words, value: Words }, { additionalProperties: false });

const Tags = must(
  Type.Union([
    Type.Object(
      {},
      {
        additionalProperties: Words,
        maxProperties: MAX_TAGS,
        examples: [{ kind: 'receipt' }],
      },
    ),
    Type.Array(Tag, { maxItems: MAX_TAGS }),
  ]),
  'must be an object of text to text or a list of {name, value}',
);

const required = {
  from: Address,
  to: AddressList,
  subject: Type.String({
    minLength: 1,
    maxLength: MAX_SUBJECT_LENGTH,
    description: 'One line, without control characters.',
    examples: ['Your receipt'],
  }),
};

const content = {
  html: Type.Optional(Type.String({ examples: ['<p>Thank you.</p>'] })),
  text: Type.Optional(Type.String({ examples: ['Thank you.'] })),
  tags: Type.Optional(Tags),
  reply_to: Type.Optional(AddressList),
  replyTo: Type.Optional({
    ...AddressList,
    description: 'The same as `reply_to`: send one of them.',
  }),
};

const headers = {
  headers: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: must(
          Type.Union([Type.String(), Type.Array(Type.String())]),
          'must be text or a list of texts',
        ),
        maxProperties: MAX_HEADERS,
        examples: [{ 'List-Unsubscribe': '<https://example.com/unsubscribe>' }],
      },
    ),
  ),
};

const copies = {
  cc: Type.Optional(AddressList),
  bcc: Type.Optional(AddressList),
  attachments: Type.Optional(Type.Array(Attachment, { maxItems: MAX_ATTACHMENTS })),
};

/** What JSON Schema says beyond the fields; `read-email.ts` checks it, with words of its own. */
const NEEDS_CONTENT = { anyOf: [{ required: ['html'] }, { required: ['text'] }] };

/** `POST /email/send`. */
export const SingularEmail = Type.Object(
  { ...required, ...content },
  { additionalProperties: false, title: 'SendEmail', ...NEEDS_CONTENT },
);

/** `POST /emails`. */
export const PluralEmail = Type.Object(
  { ...required, ...content, ...headers },
  { additionalProperties: false, title: 'CreateEmail', ...NEEDS_CONTENT },
);

/** An item of `POST /emails/batch`, and `POST /emails` where the operator allows everything. */
export const FullEmail = Type.Object(
  { ...required, ...content, ...headers, ...copies },
  { additionalProperties: false, title: 'BatchEmail' },
);

const USE_BATCH = 'is not supported on this route; use POST /emails/batch';
const NO_SCHEDULE = 'is not supported: this service sends immediately and cannot schedule';
const NO_TEMPLATE = 'is not supported: this service has no templates; send html or text';
const NO_TOPIC = 'is not supported: this service has no topics';

const NEVER = {
  scheduled_at: NO_SCHEDULE,
  scheduledAt: NO_SCHEDULE,
  template: NO_TEMPLATE,
  topic_id: NO_TOPIC,
  topicId: NO_TOPIC,
};
const ONLY_IN_BATCH = { cc: USE_BATCH, bcc: USE_BATCH, attachments: USE_BATCH };
const NOT_BASIC = `${USE_BATCH}, or have the operator set [api] single_send = "full"`;
const ONLY_IN_FULL = { cc: NOT_BASIC, bcc: NOT_BASIC, attachments: NOT_BASIC };

/** The fields that each kind of email refuses by name, each with the words for it. */
export const REFUSED = {
  singular: Object.entries({ ...NEVER, ...ONLY_IN_BATCH, headers: USE_BATCH }),
  plural: Object.entries({ ...NEVER, ...ONLY_IN_FULL }),
  full: Object.entries(NEVER),
};
