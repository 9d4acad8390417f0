/**
 * The test email: what an operator sends from a verified domain to see with their own eyes that it arrives.
 *
 * Promises that it goes the way of every live email, with the account's rules and its plan, so that its arrival proves
 * something. It has no key and no request. Throws every refusal of `acceptEmails`, and `validation_failed` at `to`.
 */
import { validationFailed } from '../../base/errors.ts';
import { makeAddress } from '../../mail/header/address.ts';
import type { Account, Domain } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import type { AcceptedSink } from './accept.ts';
import { sendByOperator } from './operator-send.ts';

/** Sends it from `postrider@` the domain to `to`; returns the id of the message. */
export async function sendTestEmail(
  ctx: Context,
  queue: AcceptedSink,
  account: Account,
  domain: Pick<Domain, 'name'>,
  to: string,
): Promise<string> {
  const recipient = makeAddress(to);
  if ('error' in recipient) {
    throw validationFailed([{ path: 'to', message: `to ${recipient.error}.` }]);
  }
  const from = makeAddress(`postrider@${domain.name}`, 'Postrider test');
  if ('error' in from) throw new Error(`no address at ${domain.name}: ${from.error}`);
  const { hostname } = ctx.config.startup;
  const words = `This email left ${hostname}, signed for ${domain.name}. If you read it, sending works.`;
  const draft = {
    from,
    to: [recipient],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: `Test email from ${domain.name}`,
    html: `<p>${words}</p><p>Look at its header for <code>dkim=pass</code>, <code>spf=pass</code> and <code>dmarc=pass</code>.</p>`,
    text: `${words}\n\nLook at its header for dkim=pass, spf=pass and dmarc=pass.\n`,
    headers: [],
    attachments: [],
    tags: [{ name: 'source', value: 'dashboard_test' }],
    raw: null,
  };
  const { id } = await sendByOperator(ctx, queue, account, { draft, isSandbox: false });
  return id;
}
