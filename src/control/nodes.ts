/** The nodes that share a store, as operators see them, and the end of their part in it. */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { NODE_STATES, nodeState } from '../store/nodes.ts';
import type { Nodes } from '../store/nodes.ts';
import type { Context } from '../flow/context.ts';
import { operation } from './operation.ts';
import { Text, oneOf, orNull } from './shapes.ts';

/** A drain takes 30 s at most, and is noticed within a beat. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 250;

const NodeShape = Type.Object({
  id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  addresses: Type.Array(Type.String()),
  /** `silent`: not heard of for longer than its lease. */
  state: oneOf(NODE_STATES),
  /** ISO 8601. */
  began_at: Type.String(),
  heard_ms_ago: Type.Integer(),
  /** Recipients that it has taken and not ended yet, and of these in an attempt; null: it has not said yet. */
  taken: orNull(Type.Integer()),
  in_delivery: orNull(Type.Integer()),
  /** By which its clock is ahead of the database's; null: it has not said yet. */
  clock_ahead_ms: orNull(Type.Integer()),
  /** The server that was asked. */
  is_this: Type.Boolean(),
});

export const NODE_OPERATIONS = {
  'node.list': operation({}, Type.Array(NodeShape), async ({ ctx }) => {
    const all = await nodesOf(ctx).list();
    return all.map((one) => ({
      id: one.id,
      name: one.name,
      version: one.version,
      addresses: one.addresses,
      state: nodeState(one),
      began_at: new Date(one.beganAt).toISOString(),
      heard_ms_ago: Math.max(0, one.heardMsAgo),
      taken: one.report?.taken ?? null,
      in_delivery: one.report?.inDelivery ?? null,
      clock_ahead_ms: one.report?.clockAheadMs ?? null,
      is_this: one.id === ctx.node?.id,
    }));
  }),
  /** Resolves when it has ended. */
  'node.drain': operation(
    /** Name or id; null: the server that is asked. */
    { name: orNull(Text) },
    Type.Object({ drained: Type.Array(Type.String()) }),
    async ({ ctx, sink }, { name }) => {
      const nodes = nodesOf(ctx);
      const which = name ?? ctx.node?.id;
      if (which === undefined) {
        throw new OperatorError(
          'No server is running on this data directory.',
          'Name the node: `postrider node list` shows them.',
        );
      }
      const asked = await nodes.askToDrain(which);
      if (asked.length === 0) {
        throw new OperatorError(
          `There is no node ${which}.`,
          '`postrider node list` shows the nodes that take part.',
        );
      }
      sink.progress('It takes no new mail, and ends what is under way.');
      await untilEnded(nodes, asked);
      return { drained: asked };
    },
  ),
};

/** Throws `OperatorError` where one process has the store alone. */
function nodesOf({ nodes }: Pick<Context, 'nodes'>): Nodes {
  if (nodes !== null) return nodes;
  throw new OperatorError(
    'This server has its data to itself: there are no nodes.',
    'Several servers need a PostgreSQL database: see [store] url.',
  );
}

/** Throws `OperatorError` when one of them does not end. */
async function untilEnded(nodes: Nodes, ids: readonly string[]): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = (await nodes.list()).filter(({ id }) => ids.includes(id));
    if (left.length === 0) return;
    if (performance.now() > until) {
      throw new OperatorError(
        `The node ${left[0]?.name} has not ended its part yet.`,
        'If it is silent, the others end it by themselves after 45 seconds. Otherwise look at its log.',
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
