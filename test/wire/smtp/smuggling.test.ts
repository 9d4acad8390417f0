/**
 * Outbound SMTP smuggling (CVE-2023-51764 and similar): 24 sequences inside a message, at a strict and at a lax receiver.
 *
 * What a caller wrote goes through `normalizeLines` as every message does, and must arrive as exactly one message;
 * bytes that were not normalised must not arrive at all.
 */
import { describe, expect, test } from 'bun:test';
import { normalizeLines } from '../../../src/mail/mime/lines.ts';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';

/** Ends of data that some receiver has taken for one. */
const SEQUENCES = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r\n.\r\n',
  '\r.\r',
  '\r.\r\n',
  '\r\n.\r',
  '\n.\r',
  '\r.\n',
  '\r\r\n.\r\r\n',
  '\r\n.\r\r\n',
  '\r\r\n.\r\n',
  '\n\n.\r\n',
  '\r\n\n.\r\n',
  '\n\r.\n\r',
  '\r\n.\0\r\n',
  '\r\n\0.\r\n',
  '\0\r\n.\r\n',
  '\n.\0\n',
  '\0\n.\n',
  '\r\0.\r\0',
  '\r\n.\n\r\n',
  '\r\n..\r\n.\n',
  '\n..\n.\r\n',
];
const SMUGGLED =
  'MAIL FROM:<admin@victim.test>\r\nRCPT TO:<target@victim.test>\r\nDATA\r\nSubject: smuggled\r\n\r\n';
/** The client writes blocks of this size: sequences are also put across their edge. */
const BLOCK_BYTES = 65_536;

test('there are 24 sequences', () => {
  expect(new Set(SEQUENCES).size).toBe(24);
});

for (const isLax of [false, true]) {
  describe(
    isLax ? 'a receiver that takes bare LF and CR for line ends' : 'a strict receiver',
    () => {
      for (const sequence of SEQUENCES) {
        test(JSON.stringify(sequence), async () => {
          const server = await startScriptedSmtp({ isLax });
          const opened = await openSession({
            address: '127.0.0.1',
            port: server.port,
            localAddress: null,
            heloName: 'client.test',
            serverName: 'mx.test',
            tls: { mode: 'none', verify: false },
            auth: null,
            deadlines: PRODUCTION_DEADLINES,
          });
          if (opened.kind !== 'ready') throw new Error('not ready');
          const { session } = opened;
          const send = (message: Buffer) =>
            session.send({
              from: 'a@client.test',
              to: 'b@mx.test',
              message: new OutgoingMessage(message, null),
              needsSmtpUtf8: false,
              dsn: false,
            });
          const head = 'Subject: outer\r\n\r\n';
          const edge = 'x'.repeat(BLOCK_BYTES - head.length - 2);
          const hostile = [
            `${head}before${sequence}${SMUGGLED}after\r\n`,
            `${head}${edge}${sequence}${SMUGGLED}after\r\n`,
            `${head}after${sequence}`,
            `Subject: outer${sequence}${SMUGGLED}`,
          ];
          for (const text of hostile) {
            const raw = Buffer.from(text);
            const stray = text.replaceAll('\r\n', '');
            // As it is: refused before the first command, unless every line end is a CRLF.
            if (/[\r\n]/.test(stray)) expect(send(raw)).rejects.toThrow('CR or LF');
            else expect((await send(raw)).kind).toBe('accepted');
            expect((await send(normalizeLines(raw))).kind).toBe('accepted');
          }
          await session.quit();
          const count = (verb: string): number =>
            server.lines.filter((line) => line.toUpperCase().startsWith(verb)).length;
          expect(count('MAIL')).toBe(server.bodies.length);
          expect(server.lines.filter((line) => line.includes('victim'))).toEqual([]);
          expect(server.bodies.every((body) => body.startsWith('Subject: outer'))).toBe(true);
          expect(server.bodies.length).toBe(session.sent);
          await server.stop();
        });
      }
    },
  );
}
