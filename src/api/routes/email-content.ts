/**
 * The content of an email, read back: body, headers, attachments.
 *
 * Promises null and an empty list when the content is no longer kept, and never the bytes of an attachment inside JSON:
 * they are downloaded by a link that works for an hour.
 */
import { Type, type Static } from '@sinclair/typebox';
import { wallTime } from '../../base/clock.ts';
import { ApiError } from '../../base/errors.ts';
import { contentOf, listedContentOf } from '../../flow/content/content.ts';
import type { Context } from '../../flow/context.ts';
import type { ListedAttachment, ListedBody } from '../../store/rows.ts';
import { attachmentId, isLinkValid, linkTo } from './download-link.ts';
import { messageOf } from './emails.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { Id, iso, nullable, Time, wholeList, wholePage } from '../shapes/common.ts';
import { OlderEmail, olderEmail } from '../shapes/email-response.ts';
import { queryOf, WholeListQuery } from '../shapes/query.ts';

const TAG = 'Emails';

const fields = {
  id: Id,
  filename: Type.String(),
  content_type: Type.String(),
  content_disposition: Type.Union([Type.Literal('inline'), Type.Literal('attachment')]),
  content_id: nullable(Type.String()),
  size: Type.Integer({ description: 'In bytes.' }),
  download_url: Type.String({ description: 'Works without a key until `expires_at`.' }),
  expires_at: Time,
};

const Attachment = Type.Object(fields, { title: 'Attachment' });

const EmailBody = Type.Object(
  {
    archived: Type.Boolean({ description: 'False when the content is no longer kept.' }),
    html: nullable(Type.String()),
    text: nullable(Type.String()),
    headers: nullable(Type.Record(Type.String(), Type.String())),
    attachments: Type.Array(Attachment),
  },
  { title: 'EmailBody' },
);

const LinkQuery = queryOf(
  Type.Object({
    expires: Type.String({ description: 'From the `download_url`.' }),
    signature: Type.String({ description: 'From the `download_url`.' }),
  }),
);

export const emailContentRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/emails/:id/body',
    access: 'full',
    text: {
      id: 'getEmailBody',
      clauses: ['C9.7'],
      tag: TAG,
      summary: 'Retrieve the content of an email',
    },
    success: { status: 200, schema: EmailBody, description: 'The content, if it is still kept.' },
    async handle(call) {
      const { body, id } = await bodyOf(call);
      const content: Static<typeof EmailBody> = {
        archived: body !== null,
        html: body?.html ?? null,
        text: body?.text ?? null,
        headers: body === null ? null : headersOf(body.headers),
        attachments: attachmentsOf(call.api.ctx, id, body),
      };
      return { status: 200, body: content };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id/attachments',
    access: 'full',
    query: WholeListQuery,
    text: {
      id: 'listEmailAttachments',
      clauses: ['C9.8'],
      tag: TAG,
      summary: 'List the attachments of an email',
    },
    success: { status: 200, schema: wholeList(Attachment), description: 'All attachments.' },
    async handle(call) {
      const { body, id } = await bodyOf(call);
      return { status: 200, body: wholePage(attachmentsOf(call.api.ctx, id, body), call.query) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id/attachments/:attachment',
    access: 'full',
    text: {
      id: 'getEmailAttachment',
      clauses: ['C9.8'],
      tag: TAG,
      summary: 'Retrieve an attachment',
    },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('attachment'), ...fields }),
      description: 'The attachment with a link to its content.',
    },
    async handle(call) {
      const { body, id } = await bodyOf(call);
      const rows = attachmentsOf(call.api.ctx, id, body);
      const row = rows.find((one) => one.id === call.params['attachment']);
      if (row === undefined) throw noAttachment();
      return { status: 200, body: { object: 'attachment', ...row } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id/attachments/:attachment/content',
    access: 'open',
    query: LinkQuery,
    errors: ['platform_halted'],
    text: {
      id: 'downloadEmailAttachment',
      clauses: ['C9.8'],
      tag: TAG,
      summary: 'Download an attachment',
      description: 'Use the `download_url` of the attachment.',
    },
    success: {
      status: 200,
      schema: Type.Unknown(),
      description: 'The content of the attachment.',
      mediaType: 'application/octet-stream',
    },
    async handle({ api: { ctx }, params, query }) {
      const emailId = params['id'] ?? '';
      const id = params['attachment'] ?? '';
      const isValid = isLinkValid(ctx, id, query.expires, query.signature);
      const message = isValid ? await ctx.store.messageById(emailId) : null;
      const body = message === null ? null : await contentOf(ctx, message.accountId, emailId);
      const row = body?.attachments.find((_, at) => attachmentId(emailId, at) === id);
      if (row === undefined) throw noAttachment();
      return {
        status: 200,
        body: row.content,
        headers: {
          // So that no browser ever renders it as a page of this host.
          'Content-Type': 'application/octet-stream',
          'Content-Disposition': `attachment; filename*=UTF-8''${encodeRfc8187(row.filename)}`,
        },
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/email/:id',
    access: 'full',
    text: {
      id: 'getOlderEmail',
      clauses: ['C9.9', 'C9.11'],
      tag: 'Emails (older family)',
      summary: 'Retrieve an email',
    },
    success: { status: 200, schema: OlderEmail, description: 'The email in the older shape.' },
    async handle(call) {
      const message = await messageOf(call);
      const body = await listedContentOf(call.api.ctx, message.accountId, message.id);
      return { status: 200, body: olderEmail(message, body) };
    },
  }),
];

/** Header fields by name; of several with one name the values in their order, separated by commas. */
function headersOf(fields: ListedBody['headers']): Record<string, string> {
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries([...values].map(([name, all]) => [name, all.join(', ')]));
}

async function bodyOf(
  call: Pick<Call, 'params' | 'identity' | 'api'>,
): Promise<{ id: string; body: ListedBody | null }> {
  const { id, accountId } = await messageOf(call);
  return { id, body: await listedContentOf(call.api.ctx, accountId, id) };
}

function attachmentsOf(
  ctx: Context,
  emailId: string,
  body: ListedBody | null,
): Static<typeof Attachment>[] {
  return (body?.attachments ?? []).map((row, index) => attachmentRow(ctx, emailId, row, index));
}

function attachmentRow(
  ctx: Context,
  emailId: string,
  row: ListedAttachment,
  index: number,
): Static<typeof Attachment> {
  const { url, expiresAt } = linkTo(ctx, emailId, index);
  return {
    id: attachmentId(emailId, index),
    filename: row.filename,
    content_type: row.contentType,
    content_disposition: row.contentId === null ? 'attachment' : 'inline',
    content_id: row.contentId,
    size: row.size,
    download_url: url,
    expires_at: iso(wallTime(ctx.clock, expiresAt)),
  };
}

/** RFC 8187 section 3.2.1: more than encodeURIComponent must be escaped. */
function encodeRfc8187(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function noAttachment(): ApiError {
  return new ApiError('not_found', 'There is no such attachment.');
}
