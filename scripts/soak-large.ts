/**
 * The large emails of `scripts/soak --large N`: each kind takes another way through the program, and is read back.
 *
 * HTML and a file come in over HTTP, a whole message over SMTP. The API gives back the body and the file, the dashboard
 * the page, the source and the HTML. Throws where an answer is none that was to be expected.
 */
import type { SendMailOptions } from 'nodemailer';

/** Bytes of HTML, or of a file. */
const SIZES = [400_000, 2_000_000, 5_000_000, 9_000_000];
const LINE = '<p>Größe zählt: the parcel left our shop this morning.</p>\n';

/** What the load has of the server. */
export interface Target {
  account: string;
  ask(method: string, path: string, body?: unknown): Promise<Response>;
  /** Of the dashboard. */
  read(path: string): Promise<string>;
  submit(mail: SendMailOptions): Promise<{ response: string }>;
}

type Mail = Record<'from' | 'to' | 'subject', string>;

/** Sends large email number `index`, and reads it in every way there is. */
export async function sendLarge(target: Target, index: number, mail: Mail): Promise<void> {
  const bytes = SIZES[index % SIZES.length] ?? 0;
  const id = await send(target, index, mail, bytes);
  const body = await answered(await target.ask('GET', `/emails/${id}/body`));
  const list = await answered(await target.ask('GET', `/emails/${id}/attachments`));
  const { data } = JSON.parse(list) as { data: { download_url: string }[] };
  const hasFile = data[0] !== undefined;
  if (!hasFile && body.length < bytes) throw new Error(`the body has ${body.length} characters`);
  if (data[0] !== undefined) {
    const { pathname, search } = new URL(data[0].download_url);
    const file = await answered(await target.ask('GET', pathname + search));
    if (file.length < bytes) throw new Error(`the file has ${file.length} characters`);
  }
  const page = `/dashboard/accounts/${target.account}/emails/${id}`;
  const pages = hasFile ? [page, `${page}/source`] : [page, `${page}/source`, `${page}/html`];
  for (const path of pages) {
    if ((await target.read(path)) === '') throw new Error(`${path} is empty`);
  }
}

async function send(target: Target, index: number, mail: Mail, bytes: number): Promise<string> {
  const html = LINE.repeat(Math.ceil(bytes / LINE.length));
  const content = Buffer.from('a line of a file\n'.repeat(Math.ceil(bytes / 17)));
  if (index % 3 === 0) {
    const { response } = await target.submit({
      ...mail,
      text: 'see the file',
      attachments: [{ filename: 'a.txt', content }],
    });
    return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(response)?.[0] ?? response;
  }
  const attachments = [{ filename: 'a.txt', content: content.toString('base64') }];
  const more = index % 3 === 1 ? { html } : { text: 'see the file', attachments };
  const answer = await answered(await target.ask('POST', '/emails', { ...mail, ...more }));
  return (JSON.parse(answer) as { id: string }).id;
}

async function answered(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.ok) throw new Error(`answered ${response.status}: ${text.slice(0, 200)}`);
  return text;
}
