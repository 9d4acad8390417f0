/** The kill switch, the dashboard's password, and reloading: what an operator does to the running server as a whole. */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { resetAdminPassword, setAdminPassword } from '../flow/people/operators.ts';
import { operation } from './operation.ts';
import { orNull } from './shapes.ts';

export const SERVER_OPERATIONS = {
  /** Of the process that responds. */
  version: operation(
    {},
    Type.Object({ version: Type.String(), pid: Type.Integer() }),
    async () => await Promise.resolve({ version: VERSION.version, pid: process.pid }),
  ),
  halt: operation(
    { reason: orNull(Type.String()) },
    /** `since`: ISO 8601. */
    Type.Object({ halted: Type.Boolean(), reason: Type.String(), since: Type.String() }),
    async ({ ctx, queue }, { reason }) => {
      try {
        const state = await ctx.halt.halt(reason ?? '');
        return { halted: true, reason: state.reason, since: new Date(state.since).toISOString() };
      } finally {
        // The switch is on also where it cannot be written: a full disk must not keep mail going out.
        queue?.setResting(ctx.halt.state !== null);
      }
    },
  ),
  resume: operation(
    {},
    Type.Object({ halted: Type.Boolean(), was_halted: Type.Boolean() }),
    async ({ ctx, queue }) => {
      const wasHalted = await ctx.halt.resume();
      queue?.setResting(false);
      return { halted: false, was_halted: wasHalted };
    },
  ),
  'password.set': operation(
    /** Null: one is made. */
    { password: orNull(Type.String()) },
    Type.Object({ password: orNull(Type.String()) }),
    async ({ ctx }, { password }) => {
      const made = password === null ? await resetAdminPassword(ctx) : null;
      if (password !== null) await setAdminPassword(ctx, password);
      ctx.log.warn('password_changed');
      return { password: made };
    },
  ),
  reload: operation(
    {},
    Type.Object({ needs_restart: Type.Array(Type.String()), new_certificate: Type.Boolean() }),
    async ({ reload }) => {
      if (reload !== null) return reload();
      throw new OperatorError(
        'No server is running on this data directory.',
        'There is nothing to reload: the server reads its config when it starts.',
      );
    },
  ),
};
