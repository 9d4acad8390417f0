/** A person who asks to be erased, and mail to that person. */
import type { NewMessage } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { accepted, finishOf, newEvent, newMessage } from './samples.ts';

export const PERSON = 'Erika.Muster@person.example';
export const LOWER = PERSON.toLowerCase();

/** Accepts a message to these addresses; delivers it unless it is to wait. */
export async function sent(
  store: Store,
  accountId: string,
  to: string[],
  isDone = true,
): Promise<NewMessage> {
  const message = newMessage(accountId, { to }, to);
  message.body.text = `Dear ${to.join()}`;
  await accepted(store, message);
  for (const recipient of isDone ? message.recipients : []) {
    const events = [newEvent(message.message, recipient.id, 'email.delivered')];
    await store.finish(finishOf(message, recipient, { events }));
  }
  return message;
}
