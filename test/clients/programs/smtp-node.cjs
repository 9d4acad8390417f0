/** Submits with nodemailer over STARTTLS and over implicit TLS, and prints what it was refused with, as JSON. */
const { createTransport } = require('nodemailer');

const { DOMAIN, RESEND_API_KEY, STARTTLS_PORT, TLS_PORT } = process.env;
const auth = { user: 'resend', pass: RESEND_API_KEY };

function message(subject, from = { name: 'Shop', address: `hello@${DOMAIN}` }) {
  return {
    from,
    to: 'Änn <ann@example.net>',
    cc: 'cy@example.net',
    subject,
    text: 'Grüße\n',
    html: '<p>Grüße</p>\n',
    attachments: [{ filename: 'a.txt', content: 'attached' }],
  };
}

async function main() {
  const starttls = createTransport({
    host: 'localhost',
    port: Number(STARTTLS_PORT),
    requireTLS: true,
    auth,
  });
  await starttls.sendMail(message('nodemailer STARTTLS'));
  const refused = await starttls.sendMail(message('nodemailer refused', 'a@nobody.example')).then(
    () => null,
    ({ responseCode, response }) => [responseCode, response],
  );
  const secure = { host: 'localhost', port: Number(TLS_PORT), secure: true, auth };
  await createTransport(secure).sendMail(message('nodemailer TLS'));
  process.stdout.write(JSON.stringify({ refused }));
}

void main();
