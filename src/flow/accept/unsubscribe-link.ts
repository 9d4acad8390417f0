/**
 * The request for a one-click unsubscribe link, answered at acceptance: the message gets the two header
 * fields of RFC 8058 for its one recipient, and the field that asked for them is removed.
 *
 * Added here so that delivery signs them like any other field. A message with several recipients is
 * refused, since all would get one link; so is one that already has a List-Unsubscribe of its own.
 */
import { asBuffer } from '../../base/as-buffer.ts';
import { validationFailed, type ApiError } from '../../base/errors.ts';
import { asksForUnsubscribe, UNSUBSCRIBE_FIELD } from '../../mail/compose/repair.ts';
import { writeField } from '../../mail/header/headers.ts';
import type { Context } from '../context.ts';
import type { Draft } from '../draft.ts';
import { unsubscribeHeaders } from '../suppressions/unsubscribe.ts';

/** Whether the draft asks for the link, by its header or, over SMTP, by the header that was read there. */
function isRequested(draft: Draft): boolean {
  if (draft.wantsUnsubscribe === true) return true;
  return draft.headers.some(([name, value]) => isRequest(name) && asksForUnsubscribe(value));
}

function isRequest(name: string): boolean {
  return name.toLowerCase() === UNSUBSCRIBE_FIELD;
}

/** Why the link cannot be added, or null. `count`: recipients, each address once. */
export function refuseUnsubscribe(draft: Draft, count: number): ApiError | null {
  if (!isRequested(draft)) return null;
  const path = 'headers.X-Postrider-Unsubscribe';
  if (count !== 1) {
    const message = `${path} needs an email with exactly one recipient; send one email to each.`;
    return validationFailed([{ path, message }]);
  }
  if (!hasOwn(draft)) return null;
  const message = `${path} and a List-Unsubscribe header of your own cannot be combined.`;
  return validationFailed([{ path, message }]);
}

function hasOwn({ headers, raw }: Draft): boolean {
  if (headers.some(([name]) => name.toLowerCase() === 'list-unsubscribe')) return true;
  if (raw === null) return false;
  const bytes = asBuffer(raw);
  const end = bytes.indexOf('\r\n\r\n');
  return /^list-unsubscribe[ \t]*:/im.test(bytes.toString('latin1', 0, end));
}

/** The draft's header fields and raw bytes with the link of `recipientId`, where it is requested. */
export function withUnsubscribe(
  ctx: Pick<Context, 'config' | 'secrets'>,
  draft: Draft,
  recipientId: string | undefined,
): Pick<Draft, 'headers' | 'raw'> {
  const { headers, raw } = draft;
  const kept = headers.some(([name]) => isRequest(name))
    ? headers.filter(([name]) => !isRequest(name))
    : headers;
  if (recipientId === undefined || !isRequested(draft)) return { headers: kept, raw };
  const fields = unsubscribeHeaders(ctx, recipientId);
  if (raw === null) return { headers: [...kept, ...fields], raw };
  const text = fields.map(([name, value]) => writeField(name, value)).join('');
  return { headers: kept, raw: Buffer.concat([Buffer.from(text), raw]) };
}
