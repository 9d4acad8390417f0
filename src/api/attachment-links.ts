/**
 * Attachments by `path`: fetched before the email is accepted.
 *
 * Promises that only public https addresses are asked (wire/https-post guards the connection itself),
 * and that an email whose attachment can not be fetched is refused, never sent without it.
 */
import type { Plan } from '../base/config.ts';
import type { Draft } from '../flow/draft.ts';
import { guardedGet } from '../wire/https-post.ts';
import type { GuardedAgent } from '../wire/guarded-agent.ts';
import { validationFailed, type Issue } from '../base/errors.ts';
import type { EmailRead } from './shapes/read-email.ts';

const FETCH_TIMEOUT_MS = 10_000;
/** Longest detour that many slow links may make together. */
const MAX_LINKS = 10;

/** The draft with every linked attachment in it. Throws `validation_failed`, name `invalid_attachment`. */
export async function fetchAttachments(
  agent: GuardedAgent,
  { draft, links }: EmailRead,
  plan: Pick<Plan, 'attachmentBytes'>,
): Promise<Draft> {
  if (links.length === 0) return draft;
  if (links.length > MAX_LINKS) {
    throw refusal([
      { path: 'attachments', message: `At most ${MAX_LINKS} attachments may come by path.` },
    ]);
  }
  const attachments = [...draft.attachments];
  const issues: Issue[] = [];
  await Promise.all(
    links.map(async ({ at, url, path }) => {
      const result = await guardedGet({
        url,
        headers: { accept: '*/*' },
        agent,
        timeoutMs: FETCH_TIMEOUT_MS,
        maxAnswerBytes: plan.attachmentBytes,
      });
      const attachment = attachments[at];
      if (result.kind === 'failed') {
        issues.push({ path, message: `${path} can not be fetched: ${result.reason}.` });
      } else if (result.statusCode !== 200) {
        issues.push({ path, message: `${path} answered ${result.statusCode} instead of 200.` });
      } else if (attachment !== undefined) {
        attachments[at] = { ...attachment, content: result.body };
      }
    }),
  );
  if (issues.length > 0) throw refusal(issues);
  return { ...draft, attachments };
}

function refusal(issues: Issue[]): Error {
  return validationFailed(issues, { name: 'invalid_attachment' });
}
