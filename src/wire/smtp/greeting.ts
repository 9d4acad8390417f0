/**
 * The opening of a session: banner, EHLO, STARTTLS, EHLO again, AUTH.
 *
 * Promises that nothing learned before the TLS upgrade is used after it (RFC 3207 section 4.2), that credentials
 * go out in plaintext only where the config says `none`, and a `DialogueEnd` for every refusal.
 */
import type { TLSSocket } from 'node:tls';
import { DialogueEnd } from './dialogue.ts';
import type { Dialogue } from './dialogue.ts';
import type { Stage } from './deadlines.ts';
import { formatReply } from './reply.ts';
import type { ReplyLines } from './reply.ts';
import type { TlsOptions } from './tls.ts';

export interface GreetingOptions {
  heloName: string;
  mode: 'none' | 'opportunistic' | 'required' | 'implicit';
  tls: TlsOptions;
  auth: { username: string; password: string } | null;
}

/** EHLO keywords in upper case, with their parameters. */
export type Extensions = ReadonlyMap<string, readonly string[]>;

export interface Greeted {
  extensions: Extensions;
  tlsSocket: TLSSocket | null;
}

/** Brings a connected dialogue to the point where MAIL may be said. Rejects with DialogueEnd. */
export async function greet(dialogue: Dialogue, options: GreetingOptions): Promise<Greeted> {
  let tlsSocket = options.mode === 'implicit' ? await dialogue.startTls(options.tls) : null;
  const banner = await dialogue.reply('banner');
  if (banner.code !== 220) throw unwelcome('banner', banner);
  let extensions = await ehlo(dialogue, options, 'ehlo');
  if (options.mode === 'opportunistic' || options.mode === 'required') {
    tlsSocket = await upgrade(dialogue, options, extensions);
    if (tlsSocket !== null) extensions = await ehlo(dialogue, options, 'ehlo2');
  }
  if (options.auth !== null) {
    if (tlsSocket === null && options.mode !== 'none') {
      throw new DialogueEnd('auth', 'credentials are not sent without TLS');
    }
    await authenticate(dialogue, options.auth, extensions);
  }
  return { extensions, tlsSocket };
}

async function ehlo(
  dialogue: Dialogue,
  options: GreetingOptions,
  stage: 'ehlo' | 'ehlo2',
): Promise<Extensions> {
  const reply = await dialogue.command(`EHLO ${options.heloName}`, stage);
  if (reply.code === 250) return parseExtensions(reply.lines);
  const isUnknown = reply.code >= 500 && reply.code <= 504;
  if (!isUnknown || stage === 'ehlo2' || options.mode === 'required') throw unwelcome(stage, reply);
  // RFC 5321 section 3.2: a server that does not know EHLO gets HELO instead.
  const old = await dialogue.command(`HELO ${options.heloName}`, stage);
  if (old.code !== 250) throw unwelcome(stage, old);
  return new Map();
}

/** Null: the session stays in plaintext, which opportunistic mode allows before any handshake. */
async function upgrade(
  dialogue: Dialogue,
  options: GreetingOptions,
  extensions: Extensions,
): Promise<TLSSocket | null> {
  const isRequired = options.mode === 'required';
  if (!extensions.has('STARTTLS')) {
    if (isRequired) throw new DialogueEnd('starttls', 'the server does not offer STARTTLS');
    return null;
  }
  const reply = await dialogue.command('STARTTLS', 'starttls');
  if (reply.code === 220) return dialogue.startTls(options.tls);
  const isRefusal = reply.code >= 400 && reply.code !== 421;
  if (!isRefusal || isRequired) throw unwelcome('starttls', reply);
  return null;
}

async function authenticate(
  dialogue: Dialogue,
  auth: { username: string; password: string },
  extensions: Extensions,
): Promise<void> {
  const mechanisms = extensions.get('AUTH')?.map((name) => name.toUpperCase()) ?? [];
  let reply: ReplyLines;
  if (mechanisms.includes('PLAIN')) {
    const response = base64(`\0${auth.username}\0${auth.password}`);
    reply = await dialogue.command(`AUTH PLAIN ${response}`, 'auth');
  } else if (mechanisms.includes('LOGIN')) {
    reply = await dialogue.command('AUTH LOGIN', 'auth');
    if (reply.code === 334) reply = await dialogue.command(base64(auth.username), 'auth');
    if (reply.code === 334) reply = await dialogue.command(base64(auth.password), 'auth');
  } else {
    const offered = mechanisms.length > 0 ? mechanisms.join(' ') : 'none';
    throw new DialogueEnd('auth', `no common AUTH mechanism; the server offers ${offered}`);
  }
  if (reply.code !== 235) throw unwelcome('auth', reply);
}

/** A refusal keeps its reply; any other reply makes no sense at this stage. */
function unwelcome(stage: Stage, reply: ReplyLines): DialogueEnd {
  return reply.code >= 400
    ? new DialogueEnd(stage, 'refused', reply)
    : new DialogueEnd(stage, `unexpected reply: ${formatReply(reply)}`);
}

function parseExtensions(lines: readonly string[]): Extensions {
  const extensions = new Map<string, string[]>();
  for (const line of lines.slice(1)) {
    // `AUTH=LOGIN` is an older spelling than RFC 2554's that some servers still use.
    const [keyword = '', ...parameters] = line
      .trim()
      .replace(/^AUTH=/i, 'AUTH ')
      .split(/\s+/);
    const known = extensions.get(keyword.toUpperCase()) ?? [];
    extensions.set(keyword.toUpperCase(), [...known, ...parameters]);
  }
  return extensions;
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
