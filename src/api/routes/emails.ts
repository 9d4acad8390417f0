/**
 * `/emails`: send one email, and retrieve emails.
 *
 * Promises that fields `POST /emails` does not support are refused by name, never dropped. An email of another account
 * is not found, like one that does not exist.
 */
import { ApiError, validationFailed } from '../../base/errors.ts';
import { listedContentOf } from '../../flow/content/content.ts';
import type { Message } from '../../store/rows.ts';
import { fetchAttachments } from './fetch-attachments.ts';
import { defineRoute, type ApiParts, type Call, type Route, type RouteText } from './route.ts';
import { respondOne, send } from './send.ts';
import { refusalFor } from '../shapes/check.ts';
import { Email, emailDetail, SendResult } from '../shapes/email-response.ts';
import { PluralEmail } from '../shapes/email-fields.ts';
import { readEmail, type EmailRead } from '../shapes/read-email.ts';
import type { Reader } from '../shapes/reader.ts';

const TAG = 'Emails';

/** The email in the body of `POST /emails`; `[api] single_send` decides which fields it may have. */
const oneEmail: Reader<EmailRead> = {
  schema: PluralEmail,
  read(value, { live }) {
    if (Array.isArray(value)) {
      const message = 'The body must be one email. Send a list of emails to POST /emails/batch.';
      throw validationFailed([{ path: '', message }]);
    }
    const isFull = live.api.singleSend === 'full';
    const kind = isFull ? 'full' : 'plural';
    const read = readEmail(value, { kind, at: '', mayLink: isFull, needsContent: true });
    if (Array.isArray(read)) throw refusalFor(read);
    return read;
  },
};

export const emailRoutes: readonly Route[] = [
  sendRoute('/emails', {
    id: 'sendEmail',
    clauses: ['C4.2', 'C4.3', 'C4.4', 'C4.5', 'C6.2'],
    tag: TAG,
    summary: 'Send an email',
    description:
      '`cc`, `bcc` and `attachments` are accepted only where the operator has set ' +
      '`[api] single_send = "full"`; `POST /emails/batch` always accepts them.',
  }),
  sendRoute('/email', {
    id: 'sendEmailOldest',
    clauses: ['C18.3'],
    tag: 'Emails (older family)',
    summary: 'Send an email (path of the oldest libraries)',
    description: 'The same as `POST /emails`.',
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id',
    access: 'full',
    text: { id: 'getEmail', clauses: ['C9.5', 'C9.6'], tag: TAG, summary: 'Retrieve an email' },
    success: { status: 200, schema: Email, description: 'The email with its events.' },
    async handle(call) {
      const message = await messageOf(call);
      const { store } = call.api.ctx;
      const [body, events] = await Promise.all([
        listedContentOf(call.api.ctx, message.accountId, message.id),
        store.events(message.id),
      ]);
      return { status: 200, body: emailDetail(message, body, events) };
    },
  }),
];

function sendRoute(path: '/emails' | '/email', text: RouteText): Route {
  return defineRoute({
    method: 'POST',
    path,
    access: 'send',
    isSend: true,
    body: oneEmail,
    text,
    success: { status: 200, schema: SendResult, description: 'Accepted and stored on disk.' },
    async handle(call) {
      const draft = await fetchAttachments(
        call.api.agent,
        call.body,
        call.identity.plan,
        call.takes,
      );
      const respond = respondOne(200);
      return send(call, [draft], { route: `POST ${path}`, isPermissive: false, respond });
    },
  });
}

/** The email that the path names. Throws `not_found`. */
export async function messageOf(
  call: Pick<Call, 'params' | 'identity'> & { api: ApiParts },
): Promise<Message> {
  const { api, params, identity } = call;
  const message = await api.ctx.store.message(identity.account.id, params['id'] ?? '');
  const isHidden = identity.key.isTest && message?.isSandbox === false;
  if (message === null || isHidden) throw new ApiError('not_found', 'There is no such email.');
  return message;
}
