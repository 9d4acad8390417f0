/** How each simulated recipient ends: its status, its reason and its events, in their order. */
import { expect, test } from 'bun:test';
import { simulate, simulationOf, SIMULATIONS } from '../../../src/flow/accept/sandbox.ts';
import { mailbox } from '../fixture.ts';

const NOW = Date.UTC(2026, 0, 15, 12);

test.each([
  ['delivered', 'delivered', null, ['email.sent', 'email.delivered']],
  ['bounced', 'bounced', '550 5.1.1 No such mailbox (simulated)', ['email.sent', 'email.bounced']],
  ['complained', 'complained', null, ['email.sent', 'email.delivered', 'email.complained']],
  ['delayed', 'delivered', null, ['email.sent', 'email.delivery_delayed', 'email.delivered']],
  ['failed', 'failed', 'No server could be reached (simulated).', ['email.failed']],
] as const)('%s ends as %s', (simulation, status, reason, types) => {
  const end = simulate(simulation, NOW);
  expect([end.status, end.reason]).toEqual([status, reason]);
  expect(end.steps.map(({ type }) => type)).toEqual([...types]);
});

test('a simulated delay is of a minute, and its second attempt delivers', () => {
  const [, delay, delivered] = simulate('delayed', NOW).steps;
  const next = '2026-01-15T12:01:00.000Z';
  expect(delay?.extra).toEqual({
    delay: { message: '451 4.3.0 Try again later (simulated)', attempt: 1, next_attempt_at: next },
  });
  expect(delay?.payload).toMatchObject({ attempt: 1, next_attempt_at: next });
  expect(delivered?.payload).toMatchObject({ attempt: 2, reply: '250 2.0.0 OK (simulated)' });
});

test('a simulated bounce is for good, a complaint is about abuse', () => {
  expect(simulate('bounced', NOW).steps[1]?.extra).toMatchObject({
    bounce: { type: 'Permanent', subType: 'NoEmail' },
  });
  expect(simulate('complained', NOW).steps[2]?.extra).toEqual({
    complaint: { feedback_type: 'abuse' },
  });
});

test('a name is known in any case and with anything behind a plus, at that domain alone', () => {
  for (const name of SIMULATIONS) {
    for (const local of [name, name.toUpperCase(), `${name}+tag+more`]) {
      expect(simulationOf(mailbox(`${local}@sandbox.test`))).toBe(name);
    }
    expect(simulationOf(mailbox(`${name}@sandbox.example`))).toBeNull();
    expect(simulationOf(mailbox(`x${name}@sandbox.test`))).toBe('unknown');
  }
});
