/**
 * How each operation is called with the client libraries: Node, Python, PHP, Ruby and Go by their own methods, Java by
 * SMTP, and all by curl.
 *
 * The methods are those of the versions that docs/clients.md names. Where a library has none for an operation, the
 * snippet is that of curl and says so. Pure.
 */
import { goStruct, literal, type Json } from './literals.ts';

export const LANGUAGES = [
  ['node', 'Node'],
  ['python', 'Python'],
  ['php', 'PHP'],
  ['ruby', 'Ruby'],
  ['go', 'Go'],
  ['java', 'Java'],
  ['curl', 'curl'],
] as const;

export type Language = (typeof LANGUAGES)[number][0];

const KEY = 'pr_live_…';
const ID = '01913c7e-89ab-7cde-8f01-23456789abcd';

type Takes = 'body' | 'id' | 'nothing';

/** Object and verb of the libraries' methods, what they take, and the Go type of what they take. */
const METHODS: Readonly<Record<string, readonly [string, string, Takes, string?]>> = {
  sendEmail: ['emails', 'send', 'body', '&resend.SendEmailRequest'],
  sendBatch: ['batch', 'send', 'body', '[]*resend.SendEmailRequest'],
  listEmails: ['emails', 'list', 'nothing'],
  getEmail: ['emails', 'get', 'id'],
  addDomain: ['domains', 'create', 'body', '&resend.CreateDomainRequest'],
  listDomains: ['domains', 'list', 'nothing'],
  getDomain: ['domains', 'get', 'id'],
  removeDomain: ['domains', 'remove', 'id'],
  verifyDomain: ['domains', 'verify', 'id'],
  createApiKey: ['apiKeys', 'create', 'body', '&resend.CreateApiKeyRequest'],
  listApiKeys: ['apiKeys', 'list', 'nothing'],
  revokeApiKey: ['apiKeys', 'remove', 'id'],
  createWebhook: ['webhooks', 'create', 'body', '&resend.CreateWebhookRequest'],
  listWebhooks: ['webhooks', 'list', 'nothing'],
  getWebhook: ['webhooks', 'get', 'id'],
  removeWebhook: ['webhooks', 'remove', 'id'],
  addSuppression: ['suppressions', 'add', 'body', '&resend.AddSuppressionRequest'],
  listSuppressions: ['suppressions', 'list', 'nothing'],
  getSuppression: ['suppressions', 'get', 'id'],
  removeSuppression: ['suppressions', 'remove', 'id'],
  listLogs: ['logs', 'list', 'nothing'],
  getLog: ['logs', 'get', 'id'],
};

/** Examples of bodies that say more than the shortest one does. */
const BODIES: Readonly<Record<string, Json>> = {
  sendEmail: {
    from: 'Shop <hello@example.com>',
    to: 'ann@example.net',
    subject: 'Your receipt',
    html: '<p>Thank you.</p>',
    text: 'Thank you.',
  },
  sendBatch: ['ann', 'ben'].map((name) => ({
    from: 'Shop <hello@example.com>',
    to: `${name}@example.net`,
    subject: 'Your receipt',
    text: 'Thank you.',
  })),
  createWebhook: {
    endpoint: 'https://hooks.example.com/mail',
    events: ['email.delivered', 'email.bounced'],
  },
};

export interface Call {
  operationId: string;
  method: string;
  /** With `{id}`. */
  path: string;
  /** The example of the document; absent where there is no body. */
  body?: Json;
  /** Address of the API, without a closing slash. */
  base: string;
}

export interface Snippet {
  code: string;
  /** Said where the language's library has no method. */
  note: string | null;
}

/** The call in `language`. */
export function snippetOf(call: Call, language: Language): Snippet {
  const method = METHODS[call.operationId];
  if (language === 'java' && call.operationId === 'sendEmail')
    return { code: java(call), note: null };
  if (language === 'curl' || language === 'java' || method === undefined) {
    return { code: curl(call), note: noteOf(language) };
  }
  const body = BODIES[call.operationId] ?? call.body;
  const [object, verb, takes, goType] = method;
  const argument =
    takes === 'body' && body !== undefined ? body : takes === 'id' ? idOf(call) : null;
  return { code: PROGRAMS[language](call.base, object, verb, argument, goType), note: null };
}

function noteOf(language: Language): string | null {
  if (language === 'curl') return null;
  if (language === 'java') {
    return 'The library for Java cannot be led to another address. Java sends over SMTP with JavaMail; this is the request for any HTTP client.';
  }
  return 'The library has no method for this. It is one request for any HTTP client:';
}

function idOf({ path }: Call): string {
  return path.includes('{email}') ? 'ann@example.net' : ID;
}

type Program = (
  base: string,
  object: string,
  verb: string,
  argument: Json,
  goType: string | undefined,
) => string;

const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const PROGRAMS: Record<Exclude<Language, 'java' | 'curl'>, Program> = {
  node: (base, object, verb, argument) => `import { Resend } from 'resend';

const resend = new Resend('${KEY}', { baseUrl: '${base}' });
const { data, error } = await resend.${object}.${verb}(${argument === null ? '' : literal('node', argument)});`,
  python: (base, object, verb, argument) => `import resend

resend.api_key = "${KEY}"
resend.api_url = "${base}"
result = resend.${upper(object)}.${verb}(${argument === null ? '' : literal('python', argument)})`,
  php: (base, object, verb, argument) => `putenv('RESEND_BASE_URL=${base}');
$resend = Resend::client('${KEY}');
$result = $resend->${object}->${verb}(${argument === null ? '' : literal('php', argument)});`,
  ruby: (
    base,
    object,
    verb,
    argument,
  ) => `ENV["RESEND_BASE_URL"] = "${base}/" # with the slash, before the library
require "resend"

Resend.api_key = "${KEY}"
result = Resend::${upper(object)}.${verb}(${argument === null ? '' : literal('ruby', argument)})`,
  go: (
    base,
    object,
    verb,
    argument,
    goType,
  ) => `os.Setenv("RESEND_BASE_URL", "${base}/") // with the slash, before NewClient
client := resend.NewClient("${KEY}")
result, err := client.${upper(object)}.${upper(verb)}(${goArgument(object, verb, argument, goType)})`,
};

function goArgument(object: string, verb: string, argument: Json, type = ''): string {
  if (argument === null) return object === 'suppressions' && verb === 'list' ? 'nil' : '';
  if (typeof argument !== 'object') return JSON.stringify(argument);
  if (!Array.isArray(argument)) return goStruct(type, argument);
  const items = argument.map((one) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? `\t${goStruct('', one, '\t')},\n`
      : '',
  );
  return `${type}{\n${items.join('')}}`;
}

function java({ base }: Call): string {
  return `Properties settings = new Properties();
settings.put("mail.smtp.host", "${URL.parse(base)?.hostname ?? 'mail.example.com'}");
settings.put("mail.smtp.port", "587");
settings.put("mail.smtp.auth", "true");
settings.put("mail.smtp.starttls.required", "true");
MimeMessage message = new MimeMessage(Session.getInstance(settings));
message.setFrom("Shop <hello@example.com>");
message.setRecipients(Message.RecipientType.TO, "ann@example.net");
message.setSubject("Your receipt");
message.setText("Thank you.");
Transport.send(message, "any", "${KEY}");`;
}

function curl(call: Call): string {
  const path = call.path.replace('{email}', 'ann@example.net').replaceAll(/\{\w+\}/g, ID);
  const body = BODIES[call.operationId] ?? call.body;
  const lines = [
    `curl ${call.method === 'get' ? '' : `-X ${call.method.toUpperCase()} `}${call.base}${path}`,
    `  -H 'Authorization: Bearer ${KEY}'`,
  ];
  if (body !== undefined) {
    const text = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    lines.push("  -H 'Content-Type: application/json'", `  -d '${text}'`);
  }
  return lines.join(' \\\n');
}
