/** What an operation is given when a test performs it: of a server without queue and webhooks, asked by `tester`. */
import type { Scope } from '../../src/control/operation.ts';
import { perform } from '../../src/control/operations.ts';
import type { ArgumentsOf, OperationName, ResultOf } from '../../src/control/operations.ts';

/** A scope with what `change` names; `progress` hears what is told meanwhile. */
export function scopeOf(
  ctx: Scope['ctx'],
  change: Partial<Omit<Scope, 'ctx' | 'sink'>> = {},
  progress: (text: string) => void = () => undefined,
): Scope {
  return {
    ctx,
    queue: null,
    dispatcher: null,
    sink: { progress, chunk: () => Promise.resolve(), left: new AbortController().signal },
    reload: null,
    by: 'tester',
    ...change,
  };
}

/** Performs operations in the scope that the test has at that moment. */
export function runnerIn(scope: () => Scope) {
  return <Name extends OperationName>(
    name: Name,
    args: ArgumentsOf<Name>,
  ): Promise<ResultOf<Name>> => perform(scope(), name, args);
}
