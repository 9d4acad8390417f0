/** Sends with nodemailer through its Resend transport, and prints what it was refused with as JSON. */
const { ResendTransport } = require('@documenso/nodemailer-resend');
const { createTransport } = require('nodemailer');

const [domain] = process.argv.slice(2);
const mailer = createTransport(
  ResendTransport.makeTransport({ apiKey: process.env.RESEND_API_KEY }),
);
const email = {
  from: { name: 'Shop', address: `hello@${domain}` },
  to: 'ann@example.net',
  cc: 'cy@example.net',
  replyTo: `r@${domain}`,
  subject: 'From nodemailer',
  text: 'Hello',
  html: '<p>Hello</p>',
  headers: { 'X-Order': '7' },
  attachments: [{ filename: 'a.txt', content: 'attached' }],
};

async function main() {
  await mailer.sendMail(email);
  const refused = await mailer.sendMail({ ...email, from: 'A <a@nobody.example>' }).then(
    () => null,
    ({ message }) => ({ message }),
  );
  process.stdout.write(JSON.stringify({ refused }));
}

void main();
