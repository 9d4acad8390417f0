/** Sends as Strapi's provider does, and prints what it was refused with as JSON. */
const { init } = require('strapi-provider-email-resend');

const [domain] = process.argv.slice(2);
const settings = { defaultFrom: `hello@${domain}`, defaultReplyTo: `r@${domain}` };
const provider = init({ apiKey: process.env.RESEND_API_KEY }, settings);
const email = {
  to: 'ann@example.net',
  subject: 'From Strapi',
  text: 'Hello',
  html: '<p>Hello</p>',
};

async function main() {
  await provider.send(email);
  const refused = await provider.send({ ...email, from: 'a@nobody.example' }).then(
    () => null,
    ({ statusCode, message }) => ({ statusCode, message }),
  );
  process.stdout.write(JSON.stringify({ refused }));
}

void main();
