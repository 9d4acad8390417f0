/**
 * API keys as the API returns them, in both spellings of their permission.
 *
 * Promises that the text of a key is in the response that creates it and in no other.
 */
import { Type, type Static } from '@sinclair/typebox';
import type { Permission } from '../../base/status.ts';
import type { Key } from '../../store/rows.ts';
import { Id, iso, isoOrNull, nullable, Time, words } from './common.ts';

export const PERMISSIONS = ['full_access', 'sending_access'] as const;
export const SCOPES = ['send', 'full'] as const;

const common = {
  id: Id,
  name: Type.String(),
  permission: words(PERMISSIONS),
  scope: words(SCOPES),
  prefix: Type.String({ examples: ['pr_live_Ab3d'] }),
  last4: Type.String(),
  created_at: Time,
};

export const ApiKey = Type.Object(
  { ...common, last_used_at: nullable(Time), revoked_at: nullable(Time) },
  { title: 'ApiKey' },
);

export const CreatedApiKey = Type.Object(
  {
    ...common,
    token: Type.String({ description: 'The key. Shown once.' }),
    key: Type.String({ description: 'The same as `token`.' }),
  },
  { title: 'CreatedApiKey' },
);

/** The older spelling of a permission. */
export function scopeOf(permission: Permission): (typeof SCOPES)[number] {
  return permission === 'full_access' ? 'full' : 'send';
}

/** The permission of an older spelling. */
export function permissionOf(scope: (typeof SCOPES)[number]): Permission {
  return scope === 'full' ? 'full_access' : 'sending_access';
}

/** One item of the key list. */
export function apiKey(key: Key): Static<typeof ApiKey> {
  return {
    ...commonOf(key),
    last_used_at: isoOrNull(key.lastUsedAt),
    revoked_at: isoOrNull(key.revokedAt),
  };
}

/** A key that was just created, with its text. */
export function createdApiKey(key: Key, token: string): Static<typeof CreatedApiKey> {
  return { ...commonOf(key), token, key: token };
}

function commonOf(key: Key) {
  return {
    id: key.id,
    name: key.name,
    permission: key.permission,
    scope: scopeOf(key.permission),
    prefix: key.prefix,
    last4: key.last4,
    created_at: iso(key.createdAt),
  };
}
