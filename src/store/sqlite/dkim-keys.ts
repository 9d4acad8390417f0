/**
 * Writes about a domain's DKIM keys beside the one that signs.
 *
 * Promises that a domain has at most one next key, that the activation is one commit, and that the private key which it
 * replaces is gone with it. Never touches a removed domain.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

/** The verbs over the writer's connection. */
export function dkimKeyWrites(db: Database): Pick<Writes, 'addNextDkimKey' | 'activateDkimKey'> {
  const add = db.prepare(
    'INSERT INTO dkim_keys (domain_id, state, selector, dkim_public_key, sealed_dkim_key, since)' +
      " VALUES (?, 'next', ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const keepOld = db.prepare(
    'INSERT OR REPLACE INTO dkim_keys (domain_id, state, selector, dkim_public_key, sealed_dkim_key, since)' +
      " SELECT id, 'previous', selector, dkim_public_key, NULL, ?2 FROM domains" +
      ' WHERE id = ?1 AND deleted_at IS NULL AND EXISTS' +
      " (SELECT 1 FROM dkim_keys WHERE domain_id = ?1 AND state = 'next' AND selector = ?3)",
  );
  const take = db.prepare(
    'UPDATE domains SET selector = next.selector, dkim_public_key = next.dkim_public_key,' +
      ' sealed_dkim_key = next.sealed_dkim_key FROM dkim_keys AS next' +
      " WHERE domains.id = ?1 AND next.domain_id = ?1 AND next.state = 'next'",
  );
  const drop = db.prepare("DELETE FROM dkim_keys WHERE domain_id = ? AND state = 'next'");
  return {
    addNextDkimKey(domainId, { selector, dkimPublicKey, sealedDkimKey, since }) {
      add.run(domainId, selector, dkimPublicKey, sealedDkimKey, since);
    },
    activateDkimKey(domainId, selector, now) {
      if (keepOld.run(domainId, now, selector).changes === 0) return false;
      take.run(domainId);
      drop.run(domainId);
      return true;
    },
  };
}
