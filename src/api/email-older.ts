/**
 * The singular family, `/email…`: the older spelling, camelCase, page and limit.
 *
 * The same emails as in the plural family, in other clothes.
 */
import { defineRoute, type Reader, type Route } from './route.ts';
import { respondOne, send } from './send.ts';
import { refusalFor } from './shapes/check.ts';
import { SendResult } from './shapes/email-answers.ts';
import { SingularEmail } from './shapes/email-fields.ts';
import { readEmail, type EmailRead } from './shapes/read-email.ts';

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
    text: { tag: TAG, summary: 'Send an email' },
    success: { status: 202, schema: SendResult, description: 'Accepted and on disk.' },
    handle: (call) =>
      send(call, [call.body.draft], {
        route: 'POST /email/send',
        isPermissive: false,
        respond: respondOne(202),
      }),
  }),
];
