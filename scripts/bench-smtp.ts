/** The benchmarks' message over SMTP, for contenders that take mail so; written by hand, since it must cost little. */
import { HTML, SENDER_DOMAIN, TEXT } from './bench-contender.ts';
import type { Connection } from './bench-contender.ts';

// Made once, whomever it feeds.
const PLAIN = TEXT.replace(/.{900}/g, '$&\r\n');
const MARKUP = HTML.replaceAll('\n', '\r\n');

function message(recipient: string): string {
  const boundary = '=_bench';
  return [
    `From: Shop <shop@${SENDER_DOMAIN}>`,
    `To: ${recipient}`,
    'Subject: Sent',
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${crypto.randomUUID()}@mail.bench.test>`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/alternative; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=utf-8',
    '',
    PLAIN,
    `--${boundary}`,
    'Content-Type: text/html; charset=utf-8',
    '',
    MARKUP,
    `--${boundary}--`,
    '',
  ].join('\r\n');
}

/** One SMTP session with the server on this port of 127.0.0.1, pipelined. */
export async function connectSmtp(port: number): Promise<Connection> {
  let pending = '';
  let waiting: { replies: number; done: (text: string) => void } | null = null;
  let said = '';
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_socket, chunk) {
        pending += chunk.toString('latin1');
        for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
          const line = pending.slice(0, end);
          pending = pending.slice(end + 2);
          if (line[3] === '-' || waiting === null) continue;
          said += `${line}\n`;
          waiting.replies -= 1;
          if (waiting.replies > 0) continue;
          const { done } = waiting;
          waiting = null;
          done(said);
          said = '';
        }
      },
      close() {
        waiting?.done('closed');
      },
    },
  });
  const replies = (count: number): Promise<string> =>
    new Promise((done) => (waiting = { replies: count, done }));
  const hello = replies(2);
  socket.write('EHLO bench\r\n');
  await hello;
  return {
    async submit(recipient) {
      const ready = replies(3);
      socket.write(`MAIL FROM:<shop@${SENDER_DOMAIN}>\r\nRCPT TO:<${recipient}>\r\nDATA\r\n`);
      const opened = await ready;
      if (!opened.includes('354')) throw new Error(opened);
      const taken = replies(1);
      socket.write(`${message(recipient)}.\r\n`);
      const answer = await taken;
      if (!answer.startsWith('250')) throw new Error(answer);
    },
    close: () => socket.end(),
  };
}
