/**
 * The guides: what a new user does, in the order in which they do it. Texts only; the pages are made by `page.ts`.
 *
 * Promises plain paragraphs, lists of steps and code, so that a guide reads without a style sheet, too.
 */
import { html, type Html } from '../../dashboard/frame/html.ts';
import { REFUSALS } from '../../base/errors.ts';
import { WEBHOOK_EVENTS } from '../../base/status.ts';
import { snippetOf, type Language } from './snippets.ts';
import { words } from './words.ts';

export interface Guide {
  slug: string;
  title: string;
  /** One sentence for the list of guides. */
  about: string;
  body(base: string, language: Language): Html;
}

const p = (text: string): Html => html`<p>${words(text)}</p>`;
const code = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`;
const steps = (list: readonly string[]): Html =>
  html`<ol>
    ${list.map((one) => html`<li>${words(one)}</li>`)}
  </ol>`;

/** The call of one operation in the reader's language. */
function call(
  operationId: string,
  method: string,
  path: string,
  base: string,
  language: Language,
): Html {
  const { code: text, note } = snippetOf({ operationId, method, path, base }, language);
  return html`${note !== null && p(note)} ${code(text)}`;
}

export const GUIDES: readonly Guide[] = [
  {
    slug: 'first-email',
    title: 'First email',
    about: 'From a key to a delivered email.',
    body: (base, language) =>
      html`${steps([
          'Take the API key that `postrider init` showed, or make one under API keys in the dashboard. A key that begins with `pr_test_` checks everything and sends nothing.',
          'Add your domain and publish its DNS records: see “Sending domains”.',
          'Send. The answer has the id of the email; it is on disk when you get it.',
          'Look at what became of it: in the dashboard, by the id, or by a webhook.',
        ])}
        ${call('sendEmail', 'post', '/emails', base, language)}
        ${p('An email goes to at most 50 recipients unless the operator allows more. Sending the same request again with the same `Idempotency-Key` within 24 hours sends nothing twice.')}
        <h2>What became of it</h2>
        ${call('getEmail', 'get', '/emails/{id}', base, language)}
        ${p('`queued`: accepted, not tried yet. `sent`: an attempt has begun. `delivered`: the receiving server took it. `delivery_delayed`: it is tried again, for 48 hours unless the operator says otherwise. `bounced`, `failed`, `suppressed`, `complained`: the events of the email say why.')}`,
  },
  {
    slug: 'sending-domains',
    title: 'Sending domains',
    about: 'DNS records, their check, and what each is for.',
    body: (base, language) =>
      html`${p('Mail is sent from domains whose records prove that you may. Add one; the answer lists the records to publish.')}
        ${call('addDomain', 'post', '/domains', base, language)}
        <dl>
          <dt>DKIM (TXT)</dt>
          <dd>The public key of the signature that every email has.</dd>
          <dt>SPF (CNAME of <code>send.</code>)</dt>
          <dd>Where bounces go, and which machine may send: aligned with your domain.</dd>
          <dt>DMARC (TXT)</dt>
          <dd>
            Recommended: what receivers do with mail that proves nothing. Gmail and Yahoo ask for
            one.
          </dd>
        </dl>
        ${p('The service looks by itself for 72 hours, and at once when you ask:')}
        ${call('verifyDomain', 'post', '/domains/{id}/verify', base, language)}
        ${p('A record that was there and is gone stops sending only after three days of failing checks.')}`,
  },
  {
    slug: 'receiving-webhooks',
    title: 'Receiving webhooks',
    about: 'Being told of events, and knowing that it was us.',
    body: (base, language) =>
      html`${p('Register an https address; the answer shows the signing secret once.')}
        ${call('createWebhook', 'post', '/webhooks', base, language)}
        ${p(
          `Events: ${WEBHOOK_EVENTS.filter(
            (event) => event !== 'email.opened' && event !== 'email.clicked',
          )
            .map((event) => `\`${event}\``)
            .join(
              ', ',
            )}. \`email.opened\` and \`email.clicked\` may be subscribed to and never come: nothing is tracked here.`,
        )}
        <h2>Verify each call</h2>
        ${p('Calls are signed by Standard Webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, and the same as `svix-…`. Check the raw body, before it is parsed:')}
        ${code(VERIFY[language] ?? VERIFY.node)}
        ${p('Answer with any 2xx within 10 seconds, and do the work afterwards. Anything else is tried again for some three hours; then the event counts as missed and can be sent again (`postrider webhook replay`). Use `webhook-id` to recognise a repetition: it is the same on every attempt.')}`,
  },
  {
    slug: 'errors',
    title: 'Errors',
    about: 'What a refusal looks like, and which there are.',
    body: () =>
      html`${p('Every refusal is JSON with `code`, `message`, `statusCode` and `name`; a request with several problems lists all of them in `detail.issues`, each with the path of its field. `X-Request-Id` is the id of the request in the log.')}
        <dl>
          ${Object.entries(REFUSALS).map(
            ([name, { status, name: library }]) =>
              html`<dt><code>${name}</code> ${status}</dt>
                <dd>As the libraries call it: <code>${library}</code></dd>`,
          )}
        </dl>
        ${p('Try again after `429` and `503`, when `Retry-After` says; with an `Idempotency-Key` nothing is sent twice. Other answers stay as they are until the request changes.')}`,
  },
  {
    slug: 'limits',
    title: 'Limits',
    about: 'Rates, sizes and quotas.',
    body: () =>
      html`${p('The operator gives each account a plan. Its rates are for the account, whatever key or listener it uses; every answer of the API says what is left.')}
        <dl>
          <dt>
            <code>RateLimit-Limit</code>, <code>RateLimit-Remaining</code>,
            <code>RateLimit-Reset</code>
          </dt>
          <dd>Requests of this window, those that are left, and the seconds until the next one.</dd>
          <dt><code>Retry-After</code></dt>
          <dd>On 429 and 503: whole seconds until a try can succeed.</dd>
        </dl>
        <dl>
          <dt>A batch</dt>
          <dd>100 emails.</dd>
          <dt>A request</dt>
          <dd>
            14 MB; a link to an attachment is fetched by the server only where the operator allows
            it.
          </dd>
          <dt>Lists</dt>
          <dd>100 rows a page: pass the id of the last row as <code>after</code>.</dd>
          <dt>Webhook endpoints, API keys</dt>
          <dd>10 endpoints and 100 live keys of an account.</dd>
        </dl>
        ${p('`GET /usage` says how much of the month is used.')}`,
  },
  {
    slug: 'migrate',
    title: 'Migrate',
    about: 'From another service: what to change in the code, and in which order.',
    body: (base, language) =>
      html`${p('The API has the shapes of the Resend API: programs that use one of its libraries change the base address and the key.')}
      ${call('sendEmail', 'post', '/emails', base, language)}
      ${steps([
        'Ask the operator for `[api] single_send = "full"` if your programs send `cc`, `bcc` or attachments by `POST /emails`.',
        'Bring your suppressions: `postrider suppression import FILE`, or the page Suppressions. Who complained elsewhere must not be mailed here.',
        'Add your domains beside the old service: the records have names of their own, so both can send at the same time.',
        'Register your webhook again; its secret is a new one.',
        'Move a little mail first: receivers learn to trust a new address over some weeks.',
      ])}
      ${p('Everything that speaks SMTP needs no library: any user name, the key as password, port 587 with STARTTLS.')}`,
  },
];

const VERIFY: Readonly<Record<'node', string>> & Partial<Record<Language, string>> = {
  node: `import { Webhook } from 'standardwebhooks';

const event = new Webhook(process.env.WEBHOOK_SECRET).verify(rawBody, request.headers);`,
  python: `from standardwebhooks import Webhook

event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(raw_body, headers)`,
  php: `$headers = array_change_key_case(getallheaders());
$resend->webhooks->verify($rawBody, $headers, getenv('WEBHOOK_SECRET'));`,
  ruby: `Resend::Webhooks.verify(
  payload: request.raw_post,
  headers: { svix_id: id, svix_timestamp: timestamp, svix_signature: signature },
  webhook_secret: ENV["WEBHOOK_SECRET"],
)`,
  go: `err := client.Webhooks.Verify(&resend.VerifyWebhookOptions{
	Payload: string(body),
	Headers: resend.WebhookHeaders{
		Id:        r.Header.Get("svix-id"),
		Timestamp: r.Header.Get("svix-timestamp"),
		Signature: r.Header.Get("svix-signature"),
	},
	WebhookSecret: os.Getenv("WEBHOOK_SECRET"),
})`,
};
