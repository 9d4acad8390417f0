/**
 * Walks one version of the `resend` package, named by its folder, through every call that it has and prints what each
 * gave as one JSON object. Knows base address and key from the environment alone, as the package does.
 */
const [folder, domain] = process.argv.slice(2);
const { Resend } = require(folder);
const { createElement } = require('react');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

const client = new Resend(process.env.RESEND_API_KEY);
const from = `Shop <hello@${domain}>`;
const email = { from, to: 'ann@example.net', subject: 'From a library', html: '<p>Hello</p>' };

/** The call's answer or its error. Versions before 1 give axios responses and reject, 1 gives bodies, later ones `{data, error}`. */
async function outcome(call) {
  try {
    const given = await call();
    if (given === undefined || given === null) return { data: given };
    if ('error' in given && 'data' in given) {
      return given.error ? { error: given.error } : { data: given.data };
    }
    const body = 'config' in given ? given.data : given;
    return 'statusCode' in body ? { error: body } : { data: body };
  } catch (thrown) {
    const { message, name, statusCode } = thrown;
    return { error: { message, name, statusCode } };
  }
}

async function main() {
  const results = {};
  const step = async (name, call) => {
    results[name] = await outcome(call);
    return results[name].data ?? {};
  };
  const sent = await step('send', () =>
    client.emails.send({
      ...email,
      cc: ['cy@example.net'],
      // The name of the field changed with version 4.
      [Number.parseInt(version, 10) < 4 ? 'reply_to' : 'replyTo']: 'r@example.net',
      tags: [{ name: 'kind', value: 'receipt' }],
      headers: { 'X-Order': '7' },
      attachments: [{ filename: 'a.txt', content: Buffer.from('attached') }],
    }),
  );
  await step('get', () => client.emails.get(sent.id));
  await step('react', () =>
    client.emails.send({
      from,
      to: 'ann@example.net',
      subject: 'From a template',
      react: createElement('h1', null, 'Hello Ann'),
    }),
  );
  await step('refused', () => client.emails.send({ ...email, to: 'nobody' }));
  if (client.sendEmail) await step('older', () => client.sendEmail(email));
  if (client.emails.list) await step('list', () => client.emails.list());
  if (client.batch) await step('batch', () => client.batch.send([email, { ...email, html: 'B' }]));
  const added = await step('domain', () => client.domains.create({ name: `sub.${domain}` }));
  await step('domainGet', () => client.domains.get(added.id));
  await step('domains', () => client.domains.list());
  await step('verify', () => client.domains.verify(added.id));
  await step('domainRemove', () => client.domains.remove(added.id));
  const key = await step('key', () => client.apiKeys.create({ name: 'walk' }));
  await step('keys', () => client.apiKeys.list());
  await step('keyRemove', () => client.apiKeys.remove(key.id));
  process.stdout.write(JSON.stringify(results));
}

void main();
