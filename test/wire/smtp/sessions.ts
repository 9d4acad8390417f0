/** Sessions with scripted receivers: every command that is sent, and the whole result; run by itself it writes sessions.txt. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession, type SessionOptions } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { Envelope } from '../../../src/wire/smtp/transaction.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';

export const TRANSCRIPT_FILE = join(import.meta.dir, 'sessions.txt');

interface Case {
  title: string;
  keywords?: string[];
  banner?: string;
  /** Replies that are not the honest ones, by the beginning of the command. */
  replies?: Record<string, string>;
  options?: Partial<SessionOptions>;
  envelope?: Partial<Omit<Envelope, 'message'>>;
  message?: string;
}

const ALL = ['PIPELINING', 'SIZE 1000', '8BITMIME', 'SMTPUTF8', 'DSN'];
const PIPE = ['PIPELINING'];
const LOGIN = { username: 'ann', password: 'sécret' };
const PLAIN_LOGIN = { auth: LOGIN };
const tls = (mode: SessionOptions['tls']['mode']) => ({ tls: { mode, verify: false } });
const UNICODE = { to: 'jö@receiver.test' };

/** What one receiver says once, and with pipelining, to each command of a transaction. */
const REFUSALS: Case[] = ['', ...PIPE].flatMap((keyword) =>
  [
    ['MAIL', '451 4.3.2 later'],
    ['MAIL', '550-5.7.1 not\r\n550 you'],
    ['MAIL', '421 4.3.2 closing'],
    ['MAIL', '354 what'],
    ['RCPT', '550 5.1.1 no such user'],
    ['RCPT', '450 4.2.0 greylisted'],
    ['RCPT', '421 closing'],
    ['RCPT', '251 2.1.5 forwarded'],
    ['DATA', '503 5.5.1 no'],
    ['DATA', '250 what'],
    ['.', '250 2.0.0 taken as 17'],
    ['.', '252 2.0.0 perhaps'],
    ['.', '554 5.7.1 spam'],
    ['.', '452-4.3.1 full\r\n452 4.3.1 wait'],
    ['.', '421 4.3.2 closing'],
    ['.', '354 what'],
  ].map(([command = '', said = '']) => ({
    title: `${keyword === '' ? '' : 'pipelined, '}${command} is answered with ${said.replaceAll('\r\n', ' / ')}`,
    ...(keyword === '' ? {} : { keywords: [keyword] }),
    replies: { [command]: said },
  })),
);

export const CASES: Case[] = [
  { title: 'an honest receiver' },
  { title: 'one that offers everything', keywords: ALL },
  {
    title: 'everything is used',
    keywords: ALL,
    envelope: { ...UNICODE, dsn: true },
    message: 'Grüße\r\n.\r\n',
  },
  { title: 'notifications', keywords: ALL, envelope: { to: 'a+b=c@receiver.test', dsn: true } },
  { title: 'notifications where they are not offered', envelope: { dsn: true } },
  { title: 'the null return path', envelope: { from: '' } },
  { title: 'an address that needs SMTPUTF8, not offered', envelope: UNICODE },
  { title: 'a header that needs it', keywords: ALL, envelope: { needsSmtpUtf8: true } },
  { title: 'eight bits, not offered', keywords: PIPE, message: 'Grüße\r\n' },
  { title: 'lower-case keywords', keywords: ['size', 'pipelining'] },
  ...['220-scripted.test\r\n220 hello', '554 5.7.1 go away', '421 busy', '250 what', '+OK'].map(
    (banner) => ({ title: `banner ${banner.replaceAll('\r\n', ' / ')}`, banner }),
  ),
  ...['500', '502', '504', '505', '421', '550', '220'].map((code) => ({
    title: `EHLO is answered with ${code}`,
    replies: { EHLO: `${code} 5.5.1 no` },
  })),
  { title: 'neither EHLO nor HELO', replies: { EHLO: '502 no', HELO: '550 no' } },
  {
    title: 'EHLO is not known where TLS is required',
    replies: { EHLO: '502 no' },
    options: tls('required'),
  },
  { title: 'TLS is required, not offered', options: tls('required') },
  { title: 'TLS would be used, not offered', options: tls('opportunistic') },
  ...(['required', 'opportunistic'] as const).flatMap((mode) =>
    ['454 4.7.0 not now', '554 no', '421 closing', '250 what'].map((said) => ({
      title: `TLS is ${mode}, STARTTLS is answered with ${said}`,
      keywords: ['STARTTLS'],
      replies: { STARTTLS: said },
      options: tls(mode),
    })),
  ),
  { title: 'a login where none is offered', options: PLAIN_LOGIN },
  { title: 'a login of another kind', keywords: ['AUTH GSSAPI cram-md5'], options: PLAIN_LOGIN },
  {
    title: 'a login without TLS, where TLS would be used',
    keywords: ['AUTH PLAIN'],
    options: { ...PLAIN_LOGIN, ...tls('opportunistic') },
  },
  ...['235 2.7.0 in', '535 5.7.8 wrong', '454 4.7.0 later', '334 go on'].flatMap((said) => [
    {
      title: `AUTH PLAIN is answered with ${said}`,
      keywords: ['AUTH LOGIN plain'],
      replies: { AUTH: said },
      options: PLAIN_LOGIN,
    },
    {
      title: `AUTH LOGIN: the password is answered with ${said}`,
      keywords: ['AUTH=LOGIN'],
      replies: { AUTH: '334 VXNlcm5hbWU6', YW: '334 UGFzc3dvcmQ6', c8: said },
      options: PLAIN_LOGIN,
    },
  ]),
  {
    title: 'AUTH LOGIN is refused at the name',
    keywords: ['AUTH LOGIN'],
    replies: { AUTH: '334 VXNlcm5hbWU6', YW: '535 5.7.8 no such name' },
    options: PLAIN_LOGIN,
  },
  ...REFUSALS,
  {
    title: 'RSET is refused after a refusal',
    replies: { RCPT: '550 no', RSET: '500 no' },
  },
  {
    title: 'DATA is taken although nobody is a recipient',
    keywords: PIPE,
    replies: { RCPT: '550 5.1.1 no' },
  },
  {
    title: 'everything is refused',
    keywords: PIPE,
    replies: { MAIL: '550 no', RCPT: '503 no', DATA: '503 no' },
  },
];

export async function blockOf(one: Case): Promise<string> {
  const replies = Object.entries(one.replies ?? {});
  const server = await startScriptedSmtp({
    ...(one.keywords !== undefined && { keywords: one.keywords }),
    ...(one.banner !== undefined && { banner: one.banner }),
    reply: (line) => replies.find(([start]) => line.startsWith(start))?.[1],
  });
  const opened = await openSession({
    address: '127.0.0.1',
    port: server.port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
    ...one.options,
  });
  const facts: unknown[] = [];
  if (opened.kind === 'failed') facts.push(opened);
  else {
    const { session } = opened;
    facts.push({ keywords: [...session.extensions], tls: session.tls });
    const message = Buffer.from(one.message ?? 'Subject: a\r\n\r\nb\r\n');
    const result = await session.send({
      from: 'a@client.test',
      to: 'b@receiver.test',
      message: new OutgoingMessage(message, null),
      needsSmtpUtf8: false,
      dsn: false,
      ...one.envelope,
    });
    facts.push(result, { isUsable: session.isUsable, sent: session.sent });
    await session.quit();
  }
  const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');
  const said = [
    ...server.lines.map(utf8),
    ...server.bodies.map((body) => JSON.stringify(utf8(body))),
  ];
  await server.stop();
  const shown = facts.map((fact) => `  ${JSON.stringify(fact)}`);
  return `# ${one.title}\n${[...said.map((line) => `  > ${line}`), ...shown].join('\n')}\n`;
}

if (import.meta.main) {
  const blocks: string[] = [];
  for (const one of CASES) blocks.push(await blockOf(one));
  writeFileSync(TRANSCRIPT_FILE, blocks.join('\n'));
}
