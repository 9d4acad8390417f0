/**
 * What the three sending routes take, in both spellings.
 *
 * The schemas validate and make the reference page; `read-email.ts` reads by them. Fields that a route refuses
 * although client libraries offer them stand in `REFUSED` with the sentence that says what to do instead.
 */
import { Type } from '@sinclair/typebox';
import { Address, AddressList } from './addresses.ts';
import { Attachment } from './attachments.ts';
import { must } from './check.ts';

/** Longest subject in characters: one line of RFC 5322 section 2.1.1 before encoding. */
const MAX_SUBJECT_LENGTH = 998;
const MAX_TAGS = 50;
const MAX_HEADERS = 100;
const MAX_ATTACHMENTS = 100;

const Words = Type.String({ minLength: 1, maxLength: 256, pattern: '^[A-Za-z0-9_-]{1,256}$' });
const Tag = Type.Object({ name: Words, value: Words }, { additionalProperties: false });

const Tags = must(
  Type.Union([
    Type.Object(
      {},
      {
        additionalProperties: must(
          Words,
          'must be 1 to 256 letters, digits, underscores and hyphens',
        ),
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
  subject: Type.String({ minLength: 1, maxLength: MAX_SUBJECT_LENGTH, examples: ['Your receipt'] }),
};

const content = {
  html: Type.Optional(Type.String({ examples: ['<p>Thank you.</p>'] })),
  text: Type.Optional(Type.String({ examples: ['Thank you.'] })),
  tags: Type.Optional(Tags),
  reply_to: Type.Optional(AddressList),
  replyTo: Type.Optional(AddressList),
};

const headers = {
  headers: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: Type.String(),
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

/** `POST /email/send`. */
export const SingularEmail = Type.Object(
  { ...required, ...content },
  { additionalProperties: false, title: 'SendEmail' },
);

/** `POST /emails`. */
export const PluralEmail = Type.Object(
  { ...required, ...content, ...headers },
  { additionalProperties: false, title: 'CreateEmail' },
);

/** An item of `POST /emails/batch`, and `POST /emails` where the operator allows everything. */
export const FullEmail = Type.Object(
  { ...required, ...content, ...headers, ...copies },
  { additionalProperties: false, title: 'BatchEmail' },
);

const BATCH_WAY = 'is refused on this route; POST /emails/batch takes it';
const NO_SCHEDULE = 'is refused: this service sends at once and does not schedule';
const NO_TEMPLATE = 'is refused: this service has no templates; send html or text';
const NO_TOPIC = 'is refused: this service has no topics';

const NEVER = {
  scheduled_at: NO_SCHEDULE,
  scheduledAt: NO_SCHEDULE,
  template: NO_TEMPLATE,
  topic_id: NO_TOPIC,
  topicId: NO_TOPIC,
};
const ONLY_IN_BATCH = { cc: BATCH_WAY, bcc: BATCH_WAY, attachments: BATCH_WAY };

/** Words for the fields each kind of email refuses by name. */
export const REFUSED = {
  singular: { ...NEVER, ...ONLY_IN_BATCH, headers: BATCH_WAY },
  plural: { ...NEVER, ...ONLY_IN_BATCH },
  full: NEVER,
} as const satisfies Record<string, Record<string, string>>;
