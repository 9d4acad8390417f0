/** Retention on PostgreSQL where a message's id and its time differ, and where somebody is at a table. */
import { expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import { partitionsOf } from '../../../src/store/postgres/partitions.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { newId } from '../../rig/ids.ts';
import { accepted, finishOf, newMessage, recipientOf } from '../samples.ts';
import { withStore } from './with-store.ts';

const DAY_MS = 86_400_000;
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS;

test(
  'content goes when both the id and the time of its message are from before',
  () =>
    withStore(async (store, account) => {
      const before = START - 30 * DAY_MS;
      const sent = async (idAt: number, createdAt: number): Promise<string> => {
        const id = idBound(idAt) + newId(idAt).slice(13);
        const message = await accepted(store, newMessage(account.id, { id, createdAt }));
        await store.finish(finishOf(message, recipientOf(message)));
        return id;
      };
      // A clock that was put back or on between the two.
      const kept = [
        await sent(before - DAY_MS, before),
        await sent(before, before - DAY_MS),
        await sent(before + 1, before + 1),
      ];
      const gone = await sent(before - 1, before - 1);
      expect(await store.purgeBodies(before)).toBe(1);
      expect(await store.messageForDelivery(gone)).toBeNull();
      for (const id of kept) expect(await store.messageForDelivery(id)).not.toBeNull();
      // What has no day of its own may wait longer.
      expect(await store.purgeBodies(before + DAY_MS, DAY_MS)).toBe(0);
      expect(await store.purgeBodies(before + DAY_MS + 1, DAY_MS)).toBe(2);
    }),
  20_000,
);

test(
  'a day that cannot be made while somebody is at a table is made in the next round, the others now',
  () =>
    withStore(async (store, _, database) => {
      const last = async (table: 'bodies' | 'events'): Promise<number | undefined> =>
        (await partitionsOf(database, table)).findLast(({ day }) => day !== null)?.day?.from;
      await database.transaction(async (session) => {
        await session.all(part('SELECT * FROM bodies_other'));
        await store.prepareDays(START + DAY_MS);
      });
      expect(await last('bodies')).toBe(START + 3 * DAY_MS);
      expect(await last('events')).toBe(START + 4 * DAY_MS);
      await store.prepareDays(START + DAY_MS);
      expect(await last('bodies')).toBe(START + 4 * DAY_MS);
    }),
  20_000,
);

test(
  'a day of events that somebody reads is counted and dropped in the next round',
  () =>
    withStore(async (store, account, database) => {
      const id = idBound(START) + newId(START).slice(13);
      const message = await accepted(store, newMessage(account.id, { id }));
      await store.finish(finishOf(message, recipientOf(message)));
      const over = START + DAY_MS;
      const fresh = 10 * DAY_MS;
      await database.transaction(async (session) => {
        await session.all(part('SELECT * FROM events'));
        // The attempt alone.
        expect(await store.purgeHistory(over, fresh)).toBe(1);
      });
      expect(await store.purgeHistory(over, fresh)).toBe(2);
      expect(await store.purgeHistory(over, fresh)).toBe(0);
    }),
  20_000,
);

test(
  'a fault that is no lock ends the round',
  () =>
    withStore(async (store, _, database) => {
      await database.transaction((session) =>
        session.run(part('ALTER TABLE events RENAME TO gone')),
      );
      const name = `events_${new Date(START + 4 * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
      expect(
        await store.prepareDays(START + DAY_MS).then(
          () => 'made',
          (error: Error) => error.message,
        ),
      ).toContain('events');
      expect(await database.first(part('SELECT to_regclass($1)::text AS name', name))).toEqual({
        name: null,
      });
    }),
  20_000,
);
