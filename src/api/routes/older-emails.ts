/**
 * `/email…`, the older family of routes: camelCase fields, lists by page and limit.
 *
 * The same emails as under `/emails`, in another shape.
 */
import { defineRoute, type Route } from './route.ts';
import { respondOne, send } from './send.ts';
import { refusalFor } from '../shapes/check.ts';
import { SendResult } from '../shapes/email-response.ts';
import { SingularEmail } from '../shapes/email-fields.ts';
import { readEmail, type EmailRead } from '../shapes/read-email.ts';
import type { Reader } from '../shapes/reader.ts';

const TAG = 'Emails (older family)';

const oneEmail: Reader<EmailRead> = {
  schema: SingularEmail,
  read(value) {
    const read = readEmail(value, { kind: 'singular', at: '', mayLink: false, needsContent: true });
    if (Array.isArray(read)) throw refusalFor(read);
    return read;
  },
};

export const olderEmailRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/email/send',
    access: 'send',
    isSend: true,
    body: oneEmail,
    text: { id: 'sendOlderEmail', clauses: ['C4.1', 'C6.2'], tag: TAG, summary: 'Send an email' },
    success: { status: 202, schema: SendResult, description: 'Accepted and stored on disk.' },
    handle: (call) =>
      send(call, [call.body.draft], {
        route: 'POST /email/send',
        isPermissive: false,
        respond: respondOne(202),
      }),
  }),
];
