/**
 * The tab "Spam" of a captured message: what the operator's rspamd makes of it, or why that is not known.
 *
 * Promises plain words for every end, and how to switch it on only for those who can. Opening the tab asks rspamd; a page
 * waits for the answer a few seconds at most (`SpamChecks`).
 */
import type { SpamRule, SpamScore } from '../../flow/upkeep/spam-answer.ts';
import type { SpamCheck } from '../../flow/upkeep/spam-checks.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { empty, table } from '../frame/table.ts';
import { badge, bytes, count, lines, time, type Tone } from '../frame/values.ts';
import type { Visit } from '../frame/visit.ts';

const EXAMPLE_URL = 'http://127.0.0.1:11333';

/** rspamd's actions: how a badge shows each, and what rspamd would do. */
const ACTIONS: ReadonlyMap<string, readonly [tone: Tone, words: string]> = new Map([
  ['no action', ['good', 'would deliver it']],
  ['greylist', ['fair', 'would put the first attempt off, and take the second']],
  ['soft reject', ['fair', 'would put it off for now']],
  ['add header', ['fair', 'would deliver it marked as spam']],
  ['rewrite subject', ['fair', 'would deliver it marked as spam in its subject']],
  ['quarantine', ['bad', 'would keep it in quarantine']],
  ['reject', ['bad', 'would refuse it']],
  ['discard', ['bad', 'would accept it and throw it away']],
]);
/** Operators of rspamd can name actions of their own. */
const OWN_ACTION = ['neutral', 'would do what its operator calls so'] as const;

export function spamTab(visit: Visit, check: SpamCheck): Html {
  switch (check.kind) {
    case 'off':
      return offWords(visit);
    case 'too_large':
      return empty(
        'This message is too large to be checked',
        `rspamd is sent messages of up to ${bytes(check.maxBytes)}.`,
      );
    case 'busy':
      return empty(
        'rspamd has enough to do',
        'It is being asked about other messages. Load this page again in a few seconds.',
      );
    case 'failed':
      return failedWords(visit, check);
    case 'scored':
      return scoreOf(check.score, check.at);
  }
}

/** Whether whoever looks has the config file, as far as the dashboard knows. */
function mayConfigure(visit: Visit): boolean {
  return visit.may('POST', `${ROOT}/inbox/clear`);
}

function offWords(visit: Visit): Html {
  const title = 'No spam score';
  if (!mayConfigure(visit)) {
    return empty(title, 'This server is not set up to ask rspamd for one.');
  }
  const how =
    visit.ctx.emulation === null
      ? html`set <code>rspamd_url = "${EXAMPLE_URL}"</code> under <code>[inbox]</code> in the config
          file, and run <code>postrider reload</code>`
      : html`start <code>postrider dev --rspamd-url ${EXAMPLE_URL}</code>`;
  return empty(
    title,
    html`rspamd, a spam filter, can say what it makes of this message. Run one and tell Postrider
    where it is: ${how}.`,
  );
}

function failedWords(
  visit: Visit,
  { url, reason, statusCode }: SpamCheck & { kind: 'failed' },
): Html {
  const title = 'rspamd gave no score';
  if (!mayConfigure(visit)) {
    return empty(title, 'This server asked its rspamd, and got no answer that it understands.');
  }
  const setting =
    visit.ctx.emulation === null
      ? html`<code>rspamd_url</code> under <code>[inbox]</code>`
      : html`<code>--rspamd-url</code>`;
  const hint =
    statusCode === null
      ? html`See that rspamd runs there, that this machine reaches it, and that ${setting} is right.`
      : html`See that ${setting} is the address of rspamd's normal worker, usually port 11333: its
        other ports want a password, or check nothing.`;
  return empty(
    title,
    html`It was asked at <code>${url}</code>: ${reason}. ${hint} Then load this page again.`,
  );
}

function scoreOf(score: SpamScore, at: number): Html {
  const { points, required, action, isPartial, rules, more } = score;
  const [tone, words] = ACTIONS.get(action) ?? OWN_ACTION;
  const of = required === null ? '' : ` of ${number(required)}`;
  return html`<p class="notice ${tone === 'neutral' ? '' : tone}">
      <strong>Score ${number(points)}${of}</strong>: rspamd ${words} ${badge(action, tone)}
    </p>
    ${
      isPartial &&
      html`<p>rspamd did not ask all its rules: a setting of it, or a test text, decides alone.</p>`
    }
    ${table(
      [
        ['Score', 'number'],
        ['Rule', 'title'],
      ],
      rules.map((rule) => [weightOf(rule.points), ruleCell(rule)]),
      'No rule says anything of it.',
    )}
    ${
      more > 0 &&
      html`<p class="soft">
        ${count(more, 'rule of less weight is', 'rules of less weight are')} not shown.
      </p>`
    }
    <p class="soft">
      Points above 0 speak for spam; rules without points only note something. Rules about the
      address and the name of the sending server (SPF, blocklists) say nothing here, where there is
      none. Asked ${time(at)}; a page that is loaded after a minute asks again.
    </p>`;
}

/** With its sign; null for a rule that only notes something. */
function weightOf(points: number): Html | string | null {
  if (points === 0) return null;
  return points > 0 ? html`<strong>+${number(points)}</strong>` : `−${number(-points)}`;
}

function ruleCell({ name, description, options }: SpamRule): Html {
  return lines([
    html`<code>${name}</code>`,
    description !== '' && html`<span class="soft">${description}</span>`,
    options.length > 0 && html`<span class="hint">${options.join(', ')}</span>`,
  ]);
}

/** At most two decimals. */
function number(value: number): string {
  return String(Number(value.toFixed(2))).replace('-', '−');
}
