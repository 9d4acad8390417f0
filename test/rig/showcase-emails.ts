/**
 * A few emails of a small shop for an inbox that people look at: a plain one, one with an attachment, and a newsletter
 * with what mail programs disagree about.
 *
 * Promises a verified domain of its own on the appliance that is given, by its API and the rig's DNS.
 */
import type { BinaryAppliance } from './binary.ts';
import type { Names } from './names.ts';
import type { PublishedRecord } from './world.ts';

const DOMAIN = 'birchandbloom.example';
const FROM = `Birch & Bloom <hello@${DOMAIN}>`;

const NEWSLETTER = `<!doctype html><html lang="en"><head><style>
@import url("https://fonts.example/serif.css");
@media (prefers-color-scheme: dark) { .card { background: #1d2b1a } }
.card { display: flex; gap: 16px; border-radius: 12px; background: linear-gradient(#eef4ea, #fff); padding: 24px }
.card:hover { box-shadow: 0 2px 8px #0003 }
h1 { font-family: Georgia, serif; margin: 0 }
</style></head><body style="margin:0;background:#f1f4ef;color:#22301f">
<div class="card" style="max-width:560px;margin:24px auto"><div><p>Birch &amp; Bloom</p><h1>Ferns are back in stock</h1>
<p>Six kinds, all of them happy in the shade. Water them once a week, and not more.</p>
<img src="https://birchandbloom.example/fern.png" width="240">
<video src="https://birchandbloom.example/fern.mp4"></video>
<p><a href="https://birchandbloom.example/ferns">See the ferns</a> or <a href="http://birchandbloom.example/care">how to care for them</a></p>
<form action="https://birchandbloom.example/subscribe"><input name="email"><button>Subscribe</button></form></div></div></body></html>`;

const RECEIPT = `<body style="margin:0;background:#f1f4ef;font-family:Georgia,serif;color:#22301f"><div style="max-width:34rem;margin:2rem auto;background:#fff;padding:2rem;border-radius:8px"><p style="letter-spacing:.1em;color:#57704c">Birch &amp; Bloom</p><h1>Thank you for your order 48213</h1><p>We pack it today. You get another email when it is on its way.</p><p><a href="https://birchandbloom.example/orders/48213" style="display:inline-block;background:#35592a;color:#fff;padding:.7rem 1.4rem;border-radius:6px">See your order</a></p></div></body>`;

const EMAILS = [
  {
    to: 'ann.adams@gmail.com',
    subject: 'Your sign-in code is 482 113',
    text: 'Your sign-in code is 482 113. It is valid for ten minutes.\n\nNobody of us ever asks you for it.\n',
  },
  {
    to: 'kofi.garcia@company.example',
    subject: 'Thank you for your order 48213',
    html: RECEIPT,
    attachments: [
      { filename: 'invoice-48213.pdf', content: Buffer.from('%PDF-1.4').toString('base64') },
    ],
  },
  { to: 'elif.kaya@outlook.com', subject: 'Ferns are back in stock', html: NEWSLETTER },
];

/** Adds the domain, publishes its records, verifies it, and sends the emails. */
export async function showcase(appliance: BinaryAppliance, names: Names): Promise<void> {
  const added = await appliance.api('POST', '/domains', { name: DOMAIN });
  const { id, records } = (await added.json()) as { id: string; records: PublishedRecord[] };
  for (const { type, name, value } of records) names.set(name, type, [value]);
  await appliance.api('POST', `/domains/${id}/verify`);
  const emails = EMAILS.map((email) => ({ from: FROM, ...email }));
  const sent = await appliance.api('POST', '/emails/batch', emails);
  if (!sent.ok) throw new Error(`not sent: ${await sent.text()}`);
}
