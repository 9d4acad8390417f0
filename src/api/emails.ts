/**
 * The plural family: sending one email and reading emails.
 *
 * Promises that what `POST /emails` does not do is refused by name, never dropped. Another account's
 * email is not found, like one that never was.
 */
import { ApiError, validationFailed } from '../base/errors.ts';
import { contentOf } from '../flow/content.ts';
import type { Message } from '../store/rows.ts';
import { fetchAttachments } from './attachment-links.ts';
import { defineRoute, type ApiParts, type Call, type Reader, type Route } from './route.ts';
import { respondOne, send } from './send.ts';
import { refusalFor } from './shapes/check.ts';
import { Email, emailDetail, SendResult } from './shapes/email-answers.ts';
import { PluralEmail } from './shapes/email-fields.ts';
import { readEmail, type EmailRead } from './shapes/read-email.ts';

const TAG = 'Emails';

/** The one email in a body of `POST /emails`; which fields it may have is the operator's choice. */
const oneEmail: Reader<EmailRead> = {
  schema: PluralEmail,
  read(value, { ctx }) {
    if (Array.isArray(value)) {
      const message = 'The body must be one email; POST /emails/batch takes a list.';
      throw validationFailed([{ path: '', message }]);
    }
    const isFull = ctx.config.api.singleSend === 'full';
    const kind = isFull ? 'full' : 'plural';
    const read = readEmail(value, { kind, at: '', mayLink: isFull, needsContent: true });
    if (Array.isArray(read)) throw refusalFor(read);
    return read;
  },
};

export const emailRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/emails',
    access: 'send',
    isSend: true,
    body: oneEmail,
    text: { tag: TAG, summary: 'Send an email' },
    success: { status: 200, schema: SendResult, description: 'Accepted and on disk.' },
    async handle(call) {
      const draft = await fetchAttachments(call.api.agent, call.body, call.identity.plan);
      const respond = respondOne(200);
      return send(call, [draft], { route: 'POST /emails', isPermissive: false, respond });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/:id',
    access: 'full',
    text: { tag: TAG, summary: 'Retrieve an email' },
    success: { status: 200, schema: Email, description: 'The email with its events.' },
    async handle(call) {
      const message = await messageOf(call);
      const { store } = call.api.ctx;
      const [body, events] = await Promise.all([
        contentOf(call.api.ctx, message.accountId, message.id),
        store.events(message.id),
      ]);
      return { status: 200, body: emailDetail(message, body, events) };
    },
  }),
];

/** The email that the path names. Throws `not_found`. */
export async function messageOf(
  call: Pick<Call, 'params' | 'identity'> & { api: ApiParts },
): Promise<Message> {
  const { api, params, identity } = call;
  const message = await api.ctx.store.message(identity.account.id, params['id'] ?? '');
  if (message === null) throw new ApiError('not_found', 'There is no such email.');
  return message;
}
