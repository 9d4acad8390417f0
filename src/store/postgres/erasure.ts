/**
 * Erasing a person: everything that names one address, in steps with other transactions between them.
 *
 * Promises that a message with other recipients stays for them, without its content, that the bytes of content are given
 * back to its account, and that mail which still waits is left alone and counted. What went before a failure is gone; running
 * it again goes on.
 */
import type { Erased, ErasureStore } from '../erasure.ts';
import { ERASED_SUBJECT, erasureOf, listWithout } from '../erased-address.ts';
import { listText, stringsOf } from '../json-columns.ts';
import type { Access, Session, Transaction } from './database.ts';
import { boundId, idOrNull } from './ids.ts';
import { dropContent, dropMessages, untilFewer } from './retention.ts';
import { escapeLike } from './messages.ts';
import { searchedText } from './shapes.ts';
import { lasting, part } from './statement.ts';

/** Recipients of one step. */
const HITS_PER_STEP = 100;
const LOGS_PER_STEP = 1_000;

interface Hit {
  id: string;
  messageId: string;
  isOpen: boolean;
  others: number;
  sender: string;
  toList: string;
  ccList: string;
  bccList: string;
  replyToList: string;
}

/** The verb over the database. */
export function erasureVerbs(database: Access): ErasureStore {
  return {
    async eraseAddress(address, accountId) {
      const of = accountId === null ? null : idOrNull(accountId);
      const sum = { messages: 0, shared: 0, waiting: 0 };
      // No account has it; null would mean all of them.
      if (of === null && accountId !== null)
        return { ...sum, log_rows: 0, confirmed: 0, suppressions_kept: 0 };
      for (let after: string | null = boundId(0); after !== null;) {
        const from: string = after;
        const step = await database.transaction((session) => eraseStep(session, address, of, from));
        sum.messages += step.messages;
        sum.shared += step.shared;
        sum.waiting += step.waiting;
        after = step.next;
      }
      const lists = await eraseLists(database, address, of);
      return {
        ...sum,
        ...lists,
        log_rows: await eraseLogs(database, address, of),
      };
    },
  };
}

/** `next`: where to go on. */
async function eraseStep(
  session: Transaction,
  address: string,
  accountId: string | null,
  after: string,
): Promise<Pick<Erased, 'messages' | 'shared' | 'waiting'> & { next: string | null }> {
  const hits = await session.all<Hit>(
    lasting(
      part(
        'SELECT r.id, r.message_id AS "messageId", m.to_list AS "toList", m.cc_list AS "ccList", m.bcc_list AS "bccList",' +
          ' m.reply_to_list AS "replyToList", m.sender,' +
          ' EXISTS (SELECT 1 FROM queue AS q WHERE q.message_id = r.message_id) AS "isOpen",' +
          ' (SELECT count(*) FROM recipients AS o WHERE o.message_id = r.message_id AND lower(o.address) <> $1) AS others' +
          ' FROM recipients AS r JOIN messages AS m ON m.id = r.message_id' +
          ' WHERE lower(r.address) = $1 AND r.id > $2 AND ($3::uuid IS NULL OR r.account_id = $3)' +
          ' ORDER BY r.id LIMIT $4 FOR NO KEY UPDATE OF m',
        address,
        after,
        accountId,
        HITS_PER_STEP,
      ),
    ),
  );
  const step = { messages: 0, shared: 0, waiting: 0 };
  for (const hit of hits) {
    const erasure = erasureOf(hit.isOpen, hit.others, true);
    if (erasure === 'waits') step.waiting += 1;
    else if (erasure === 'goes') {
      // Gone already with another recipient of the same address: 0.
      const which = part('SELECT id FROM messages WHERE id = $1', hit.messageId);
      step.messages += await dropMessages(session, which, true);
    } else {
      await takeOut(session, hit, address);
      step.shared += 1;
    }
  }
  return {
    ...step,
    next: hits.length < HITS_PER_STEP ? null : (hits.at(-1)?.id ?? null),
  };
}

/** Takes one recipient out of a message that stays: its rows, its address, and the content, which may name it. */
async function takeOut(session: Transaction, hit: Hit, address: string): Promise<void> {
  await dropContent(session, [hit.messageId]);
  const ofRecipient = 'WHERE message_id = $1 AND recipient_id = $2';
  for (const text of [
    `DELETE FROM calls WHERE message_id = $1 AND event_id IN (SELECT id FROM events ${ofRecipient})`,
    `DELETE FROM events ${ofRecipient}`,
    `DELETE FROM attempts ${ofRecipient}`,
    'DELETE FROM recipients WHERE message_id = $1 AND id = $2',
  ]) {
    await session.run(part(text, hit.messageId, hit.id));
  }
  const { toList, ccList, bccList, replyToList } = hit;
  const [to = [], cc = [], bcc = [], replyTo = []] = [toList, ccList, bccList, replyToList].map(
    (list) => listWithout(stringsOf(list), address),
  );
  await session.run(
    part(
      'UPDATE messages SET to_list = $2, cc_list = $3, bcc_list = $4, reply_to_list = $5, subject = $6,' +
        ' failure_reason = NULL, event_headers = NULL, searched = $7 WHERE id = $1',
      hit.messageId,
      listText(to),
      listText(cc),
      listText(bcc),
      listText(replyTo),
      ERASED_SUBJECT,
      // Whoever is still in it finds it, as before.
      searchedText({ subject: ERASED_SUBJECT, from: hit.sender, to }),
    ),
  );
}

function eraseLists(
  database: Access,
  address: string,
  accountId: string | null,
): Promise<Pick<Erased, 'confirmed' | 'suppressions_kept'>> {
  const IS = 'lower(email) = $1 AND ($2::uuid IS NULL OR account_id = $2)';
  const run = (session: Session, text: string) =>
    session.run(lasting(part(`${text} ${IS}`, address, accountId)));
  return database.transaction(async (session) => {
    await run(session, 'DELETE FROM suppressions WHERE removed_at IS NOT NULL AND');
    return {
      confirmed: await run(session, 'DELETE FROM confirmed_recipients WHERE'),
      suppressions_kept: await run(
        session,
        'UPDATE suppressions SET note = NULL, source = NULL WHERE removed_at IS NULL AND',
      ),
    };
  });
}

/** Rows of the request log that name the address, as it is or percent-encoded. */
function eraseLogs(database: Access, address: string, accountId: string | null): Promise<number> {
  const patterns = [address, encodeURIComponent(address).toLowerCase()].map(
    (spelling) => `%${escapeLike(spelling)}%`,
  );
  return untilFewer(LOGS_PER_STEP, () =>
    database.run(
      lasting(
        part(
          'DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE ($2::uuid IS NULL OR account_id = $2) AND' +
            " lower(path || ' ' || COALESCE(request_body, '') || ' ' || COALESCE(response_body, '')) LIKE ANY($1::text[]) LIMIT $3)",
          patterns,
          accountId,
          LOGS_PER_STEP,
        ),
      ),
    ),
  );
}
