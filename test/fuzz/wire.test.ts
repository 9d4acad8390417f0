/**
 * Fuzzing of what other machines answer: SMTP replies in chunks, DNS packets. `dns-packets.test.ts` beside this file
 * goes on with answers over the network.
 */
import { expect } from 'bun:test';
import {
  formatReply,
  MAX_REPLY_BYTES,
  ReplyFault,
  ReplyReader,
} from '../../src/wire/smtp/reply.ts';
import { matchAnswer, readAnswer, type Question } from '../../src/wire/dns/message.ts';
import { answerWith } from '../rig/raw-dns.ts';
import { fuzz } from './fuzzing.ts';

const REPLIES = [
  '220 mx.example.net ESMTP\r\n',
  '250-mx.example.net\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-STARTTLS\r\n250 SMTPUTF8\r\n',
  '250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 End data with <CR><LF>.<CR><LF>\r\n',
  '550-5.7.1 [192.0.2.1] Our system has detected\r\n550 5.7.1 unsolicited mail. gsmtp\r\n',
  '421 4.7.0 Try again later\n',
];

fuzz('reply of a server, in chunks', {
  corpus: REPLIES,
  read(text) {
    const bytes = Buffer.from(text, 'latin1');
    const whole = repliesIn([bytes]);
    const middle = bytes.length >> 1;
    // Where the chunks end changes nothing.
    expect(repliesIn([bytes.subarray(0, middle), bytes.subarray(middle)])).toEqual(whole);
    for (const reply of whole) expect(reply.length).toBeLessThan(MAX_REPLY_BYTES * 3);
  },
});

function repliesIn(chunks: readonly Buffer[]): string[] {
  const reader = new ReplyReader();
  const replies: string[] = [];
  try {
    for (const chunk of chunks) reader.push(chunk, (reply) => replies.push(formatReply(reply)));
  } catch (error) {
    if (!(error instanceof ReplyFault)) throw error;
    replies.push('a fault');
  }
  return replies;
}

const ID = 0x1234;
const QUESTION: Question = { name: 'a.test', type: 'MX' };
const PACKET = answerWith(
  {
    id: ID,
    name: 'a.test',
    type: 'MX',
    question: Buffer.from('\x01a\x04test\0\0\x0f\0\x01', 'latin1'),
    isRecursionDesired: true,
    udpBytes: 512,
  },
  {
    records: [
      { name: 'a.test', type: 'CNAME', value: 'b.test', ttlSeconds: 60 },
      { name: 'b.test', type: 'MX', value: '10 mx.a.test', ttlSeconds: 60 },
    ],
    authority: [
      { name: 'test', type: 'SOA', value: 'ns.test admin.test 1 2 3 4 5', ttlSeconds: 60 },
    ],
  },
);

fuzz('DNS packet', {
  corpus: [PACKET.toString('latin1')],
  read(text) {
    const packet = Buffer.from(text, 'latin1');
    const matched = matchAnswer(packet, ID, QUESTION);
    if (matched === null) return;
    expect(['found', 'nodata', 'nxdomain', 'alias', 'failed']).toContain(
      readAnswer(matched, QUESTION, packet.length).kind,
    );
  },
});
