/**
 * Message-IDs (RFC 5322 section 3.6.4): which ones a sender may choose, and which ones name an email of this service.
 *
 * Promises that a well-formed one fits on a line of its own and means the same to every reader: no comments, no quoted
 * strings, no white space. Never looks anything up: two emails may carry one Message-ID.
 */
import { isId } from '../../base/ids.ts';

/** With its brackets. Reports are read up to this length; a line holds 998 (RFC 5322 section 2.1.1). */
const MAX_LENGTH = 500;

/** dot-atom-text "@" ( dot-atom-text / no-fold-literal ). */
const WELL_FORMED =
  /^<[\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*@(?:[\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*|\[[\x21-\x3b=\x3f-\x5a\x5e-\x7e]*\])>$/;

/** Why `value` may not be the Message-ID of a new email, in words that follow the field's name; null when it may. */
export function checkMessageId(value: string): string | null {
  if (value.length > MAX_LENGTH) return `must not be longer than ${MAX_LENGTH} characters`;
  return WELL_FORMED.test(value) ? null : 'must have the form <left@right> of RFC 5322';
}

/** The email's id inside a Message-ID that acceptance makes, `<id@hostname>`; null for any other text. */
export function ownMessageId(messageId: string | null, hostname: string): string | null {
  const [id = '', host] = (messageId ?? '').replace(/^<|>$/g, '').split('@');
  return host?.toLowerCase() === hostname && isId(id.toLowerCase()) ? id.toLowerCase() : null;
}
