/** What a send is refused for, field by field, with the whole refusal. */
import { EMAIL, runRefusals } from '../refusal-rows.ts';

runRefusals([
  {
    ask: 'POST /emails',
    body: '{',
    is: '400 validation_failed validation_error',
    issues: [' | The body must be valid JSON.'],
  },
  {
    ask: 'POST /emails',
    body: '[]',
    is: '422 validation_failed validation_error',
    issues: [' | The body must be one email. Send a list of emails to POST /emails/batch.'],
  },
  {
    ask: 'POST /emails',
    body: '{"from":"a","from":"b"}',
    is: '422 validation_failed validation_error',
    issues: ['from | The key from appears twice.'],
  },
  {
    ask: 'POST /emails',
    body: '',
    is: '422 validation_failed missing_required_field',
    issues: [
      'from | Missing `from` field.',
      'to | Missing `to` field.',
      'subject | Missing `subject` field.',
      'html | Missing `html` or `text` field.',
    ],
  },
  {
    ask: 'POST /emails',
    body: EMAIL,
    headers: { 'content-encoding': 'gzip' },
    is: '400 validation_failed validation_error',
    issues: ['Content-Encoding | Content-Encoding is not supported. Send the body uncompressed.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, from: undefined },
    is: '422 validation_failed missing_required_field',
    issues: ['from | Missing `from` field.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, to: undefined },
    is: '422 validation_failed missing_required_field',
    issues: ['to | Missing `to` field.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, subject: undefined },
    is: '422 validation_failed missing_required_field',
    issues: ['subject | Missing `subject` field.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, text: undefined },
    is: '422 validation_failed missing_required_field',
    issues: ['html | Missing `html` or `text` field.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, from: 'nope' },
    is: '422 validation_failed invalid_from_address',
    issues: ['from | from must be of the form name@domain.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, from: ['a@acme.example', 'b@acme.example'] },
    is: '422 validation_failed invalid_from_address',
    issues: [
      'from | from must be an address: "a@example.com", "Name <a@example.com>" or {email, name}.',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, to: [] },
    is: '422 validation_failed validation_error',
    issues: ['to | to must have at least one recipient.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, to: 'nope' },
    is: '422 validation_failed validation_error',
    issues: ['to | to must be of the form name@domain.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, to: 7 },
    is: '422 validation_failed validation_error',
    issues: ['to | to must be an address or a list of addresses.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, subject: 7 },
    is: '422 validation_failed validation_error',
    issues: ['subject | subject must be a string.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, subject: '' },
    is: '422 validation_failed validation_error',
    issues: ['subject | subject must not be empty.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, html: 7 },
    is: '422 validation_failed validation_error',
    issues: ['html | html must be a string.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, reply_to: 'x' },
    is: '422 validation_failed validation_error',
    issues: ['reply_to | reply_to must be of the form name@domain.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, headers: { 'X-A': 'a\nb' } },
    is: '422 validation_failed validation_error',
    issues: ['headers.X-A | headers.X-A must not contain a line break.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, headers: { From: 'x' } },
    is: '422 validation_failed validation_error',
    issues: ['headers.From | headers.From is set by the service and cannot be overridden.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, headers: { 'a b': 'x' } },
    is: '422 validation_failed validation_error',
    issues: ['headers.a b | headers.a b is not a valid header name.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, headers: ['x'] },
    is: '422 validation_failed validation_error',
    issues: ['headers | headers must be an object.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, tags: [{ name: 'a b', value: 'x' }] },
    is: '422 validation_failed validation_error',
    issues: [
      'tags[0].name | tags[0].name must be 1 to 256 ASCII letters, digits, underscores and hyphens.',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, tags: 'x' },
    is: '422 validation_failed validation_error',
    issues: ['tags | tags must be an object of text to text or a list of {name, value}.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, attachments: [{ content: 'eA==' }] },
    is: '422 validation_failed invalid_attachment',
    issues: [
      'attachments | attachments is not supported on this route; use POST /emails/batch, or have the operator set [api] single_send = "full".',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, attachments: [{ filename: 'x' }] },
    is: '422 validation_failed invalid_attachment',
    issues: [
      'attachments | attachments is not supported on this route; use POST /emails/batch, or have the operator set [api] single_send = "full".',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, attachments: [{ filename: 'x', content: '!!' }] },
    is: '422 validation_failed invalid_attachment',
    issues: [
      'attachments | attachments is not supported on this route; use POST /emails/batch, or have the operator set [api] single_send = "full".',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, attachments: 'x' },
    is: '422 validation_failed invalid_attachment',
    issues: [
      'attachments | attachments is not supported on this route; use POST /emails/batch, or have the operator set [api] single_send = "full".',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, scheduled_at: '2027-01-01' },
    is: '422 validation_failed validation_error',
    issues: [
      'scheduled_at | scheduled_at is not supported: this service sends immediately and cannot schedule.',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, template: { id: 'x' } },
    is: '422 validation_failed validation_error',
    issues: [
      'template | template is not supported: this service has no templates; send html or text.',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, react: 'x' },
    is: '422 validation_failed validation_error',
    issues: ['react | react is not a field of this request.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, colour: 'red' },
    is: '422 validation_failed validation_error',
    issues: ['colour | colour is not a field of this request.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, from: 'a@nobody.example' },
    is: '403 from_domain_not_allowed validation_error',
    says: "The domain nobody.example is not one of this account's domains. Please add and verify it.",
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, from: 'a@pending.example' },
    is: '403 domain_not_verified validation_error',
    says: 'The pending.example domain is not verified. Please publish its DNS records and verify it.',
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, from: 'a@other.example' },
    is: '403 from_domain_not_allowed validation_error',
    says: "The domain other.example is not one of this account's domains. Please add and verify it.",
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, to: 'bouncd@sandbox.test' },
    is: '422 validation_failed validation_error',
    issues: [
      'to | bouncd@sandbox.test is not simulated; sandbox.test has: delivered, bounced, complained, delayed, failed, suppressed.',
    ],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, to: Array.from({ length: 51 }, (_, at) => `a${at}@x.example`) },
    is: '422 validation_failed validation_error',
    issues: ['to | This email has 51 recipients; to, cc and bcc may have 50 together.'],
  },
  {
    ask: 'POST /emails',
    body: { ...EMAIL, headers: { 'Message-ID': 'x' } },
    is: '422 validation_failed validation_error',
    issues: [
      'headers.Message-ID | headers.Message-ID must have the form <left@right> of RFC 5322.',
    ],
  },
  {
    ask: 'POST /emails',
    body: EMAIL,
    headers: { 'idempotency-key': 'k'.repeat(257) },
    is: '400 validation_failed invalid_idempotency_key',
    issues: ['Idempotency-Key | Idempotency-Key must have 1 to 256 characters.'],
  },
  {
    ask: 'POST /emails/batch',
    body: [],
    is: '422 validation_failed validation_error',
    issues: [' | The body must be a list of 1 to 100 emails.'],
  },
  {
    ask: 'POST /emails/batch',
    body: {},
    is: '422 validation_failed validation_error',
    issues: [' | The body must be a list of 1 to 100 emails.'],
  },
  {
    ask: 'POST /emails/batch',
    body: Array.from({ length: 101 }, () => EMAIL),
    is: '422 validation_failed validation_error',
    issues: [' | The body must be a list of 1 to 100 emails.'],
  },
  {
    ask: 'POST /emails/batch',
    body: [EMAIL, { ...EMAIL, to: 'x' }],
    is: '422 validation_failed validation_error',
    issues: ['[1].to | [1].to must be of the form name@domain.'],
  },
  {
    ask: 'POST /emails/batch',
    body: [EMAIL],
    headers: { 'x-batch-validation': 'lax' },
    is: '422 validation_failed validation_error',
    issues: ['x-batch-validation | x-batch-validation must be "strict" or "permissive".'],
  },
  {
    ask: 'POST /emails/batch',
    body: [{ ...EMAIL, attachments: [{ filename: 'x', path: 'https://f.example/x' }] }],
    is: '422 validation_failed invalid_attachment',
    issues: [
      '[0].attachments[0].path | [0].attachments[0].path is not supported on this route; send content instead.',
    ],
  },
  {
    ask: 'POST /email/send',
    body: { ...EMAIL, headers: { 'X-A': '1' }, cc: 'c@x.example', attachments: [{}] },
    is: '422 validation_failed validation_error',
    issues: ['cc', 'attachments', 'headers'].map(
      (field) => `${field} | ${field} is not supported on this route; use POST /emails/batch.`,
    ),
  },
  {
    ask: 'POST /email/send',
    body: { ...EMAIL, text: undefined },
    is: '422 validation_failed missing_required_field',
    issues: ['html | Missing `html` or `text` field.'],
  },
  {
    ask: 'POST /email/send',
    body: [EMAIL],
    is: '422 validation_failed validation_error',
    issues: [' | The body must be an object.'],
  },
  {
    ask: 'POST /email',
    body: [EMAIL],
    is: '422 validation_failed validation_error',
    issues: [' | The body must be one email. Send a list of emails to POST /emails/batch.'],
  },
  {
    ask: 'POST /email',
    body: { ...EMAIL, bcc: 'c@x.example' },
    is: '422 validation_failed validation_error',
    issues: [
      'bcc | bcc is not supported on this route; use POST /emails/batch, or have the operator set [api] single_send = "full".',
    ],
  },
]);
