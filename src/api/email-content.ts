/**
 * The content of an email, read back: body, headers, attachments.
 *
 * Promises null and an empty list when the content is no longer kept, and never the bytes of an
 * attachment inside JSON: they are fetched under a link that ends after an hour.
 */
import { Type, type Static } from '@sinclair/typebox';
import { ApiError } from '../base/errors.ts';
import { contentOf } from '../flow/content.ts';
import type { Context } from '../flow/context.ts';
import type { Attachment as AttachmentRow, Body } from '../store/rows.ts';
import { attachmentId, isLinkGood, linkTo } from './attachment-download.ts';
import { messageOf } from './emails.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { Id, iso, nullable, Time, whole, wholeList } from './shapes/common.ts';
import { OlderEmail, olderEmail } from './shapes/email-answers.ts';
import { queryOf } from './shapes/query.ts';

const TAG = 'Emails';

const fields = {
  id: Id,
  filename: Type.String(),
  content_type: Type.String(),
  content_disposition: Type.Union([Type.Literal('inline'), Type.Literal('attachment')]),
  content_id: nullable(Type.String()),
  size: Type.Integer({ description: 'Bytes.' }),
  download_url: Type.String({ description: 'Needs no key; ends at `expires_at`.' }),
  expires_at: Time,
};

const Attachment = Type.Object(fields, { title: 'Attachment' });

const EmailBody = Type.Object(
  {
    archived: Type.Boolean({ description: 'False when the content was not kept.' }),
    html: nullable(Type.String()),
    text: nullable(Type.String()),
    headers: nullable(Type.Record(Type.String(), Type.String())),
    attachments: Type.Array(Attachment),
  },
  { title: 'EmailBody' },
);

const LinkQuery = queryOf(Type.Object({ expires: Type.String(), signature: Type.String() }));

export const emailContentRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/emails/:id/body',
    access: 'full',
    text: { tag: TAG, summary: 'Read the content back' },
    success: { status: 200, schema: EmailBody, description: 'The content, if it is kept.' },
    async handle(call) {
      const { body, id } = await bodyOf(call);
      const answer: Static<typeof EmailBody> = {
        archived: body !== null,
        html: body?.html ?? null,
        text: body?.text ?? null,
        headers: body === null ? null : Object.fromEntries(body.headers),
        attachments: attachmentsOf(call.api.ctx, id, body),
      };
      return { status: 200, body: answer };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id/attachments',
    access: 'full',
    text: { tag: TAG, summary: 'List the attachments of an email' },
    success: { status: 200, schema: wholeList(Attachment), description: 'All attachments.' },
    async handle(call) {
      const { body, id } = await bodyOf(call);
      return { status: 200, body: whole(attachmentsOf(call.api.ctx, id, body)) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id/attachments/:attachment',
    access: 'full',
    text: { tag: TAG, summary: 'Retrieve an attachment' },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('attachment'), ...fields }),
      description: 'The attachment, with a link to its bytes.',
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
    text: { tag: TAG, summary: 'Download an attachment', description: 'Under its `download_url`.' },
    success: { status: 200, schema: Type.String({ format: 'binary' }), description: 'The bytes.' },
    async handle({ api: { ctx }, params, query }) {
      const emailId = params['id'] ?? '';
      const id = params['attachment'] ?? '';
      const isGood = isLinkGood(ctx, id, query.expires, query.signature);
      const message = isGood ? await ctx.store.messageById(emailId) : null;
      const body = message === null ? null : await contentOf(ctx, message.accountId, emailId);
      const row = body?.attachments.find((_, at) => attachmentId(emailId, at) === id);
      if (row === undefined) throw noAttachment();
      return {
        status: 200,
        body: row.content,
        headers: {
          // Never shown by a browser under this host's name, whatever it is.
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
    text: { tag: 'Emails (older family)', summary: 'Retrieve an email' },
    success: { status: 200, schema: OlderEmail, description: 'The email in the older shape.' },
    async handle(call) {
      const message = await messageOf(call);
      const body = await contentOf(call.api.ctx, message.accountId, message.id);
      return { status: 200, body: olderEmail(message, body) };
    },
  }),
];

async function bodyOf(
  call: Call<undefined, undefined>,
): Promise<{ id: string; body: Body | null }> {
  const { id, accountId } = await messageOf(call);
  return { id, body: await contentOf(call.api.ctx, accountId, id) };
}

function attachmentsOf(
  ctx: Context,
  emailId: string,
  body: Body | null,
): Static<typeof Attachment>[] {
  return (body?.attachments ?? []).map((row, place) => attachmentRow(ctx, emailId, row, place));
}

function attachmentRow(
  ctx: Context,
  emailId: string,
  row: AttachmentRow,
  place: number,
): Static<typeof Attachment> {
  const { url, expiresAt } = linkTo(ctx, emailId, place);
  return {
    id: attachmentId(emailId, place),
    filename: row.filename,
    content_type: row.contentType,
    content_disposition: row.contentId === null ? 'attachment' : 'inline',
    content_id: row.contentId,
    size: row.content.length,
    download_url: url,
    expires_at: iso(expiresAt),
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
