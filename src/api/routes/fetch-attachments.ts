/**
 * Attachments by `path`: fetched before the email is accepted.
 *
 * Promises requests to public https addresses only (wire/https/post guards the connection itself), and that an email
 * whose attachment cannot be fetched is refused, never sent without it.
 */
import type { Plan } from '../../base/config.ts';
import { tooBusy } from '../../flow/byte-budget.ts';
import type { Draft } from '../../flow/draft.ts';
import { guardedGet } from '../../wire/https/post.ts';
import type { GuardedAgent } from '../../wire/https/guarded-agent.ts';
import { validationFailed, type Issue } from '../../base/errors.ts';
import type { EmailRead } from '../shapes/read-email.ts';

const FETCH_TIMEOUT_MS = 10_000;
/** Most attachments of one email that are fetched. */
const MAX_LINKS = 10;

/**
 * The draft with the content of every linked attachment, for whose bytes `takes` is asked. Throws `validation_failed`,
 * name `invalid_attachment`, or `platform_halted` when `takes` says no.
 */
export async function fetchAttachments(
  agent: GuardedAgent,
  { draft, links }: EmailRead,
  plan: Pick<Plan, 'attachmentBytes'>,
  takes: (bytes: number) => boolean,
): Promise<Draft> {
  if (links.length === 0) return draft;
  if (links.length > MAX_LINKS) {
    throw refusal([
      { path: 'attachments', message: `At most ${MAX_LINKS} attachments can use path.` },
    ]);
  }
  const attachments = [...draft.attachments];
  const budget = { left: plan.attachmentBytes, isEmpty: false };
  const mayKeep = (bytes: number): boolean => {
    budget.left -= bytes;
    if (budget.left < 0) return false;
    if (!takes(bytes)) budget.isEmpty = true;
    return !budget.isEmpty;
  };
  const found = await Promise.all(
    links.map(async ({ at, url, path }): Promise<Issue[]> => {
      const result = await guardedGet({
        url,
        headers: { accept: '*/*' },
        agent,
        timeoutMs: FETCH_TIMEOUT_MS,
        maxResponseBytes: plan.attachmentBytes,
        mayKeep,
      });
      if (result.kind === 'failed') {
        return [{ path, message: `${path} could not be fetched: ${result.reason}.` }];
      }
      if (result.statusCode !== 200) {
        const message = `${path} returned status ${result.statusCode}; it must return 200.`;
        return [{ path, message }];
      }
      const attachment = attachments[at];
      if (attachment !== undefined) attachments[at] = { ...attachment, content: result.body };
      return [];
    }),
  );
  const issues = found.flat();
  if (budget.isEmpty) throw tooBusy();
  if (issues.length > 0) throw refusal(issues);
  return { ...draft, attachments };
}

function refusal(issues: Issue[]): Error {
  return validationFailed(issues, { name: 'invalid_attachment' });
}
