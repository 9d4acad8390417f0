/**
 * The writes of the store as its callers see them: each a request to the writer, the long ones several.
 *
 * Promises that a long write gives way to other writes between its steps; what a step has done stays when a later one
 * fails. Every other write is one item of one commit.
 */
import type { Store } from '../store.ts';
import type { OneStepWrite, Writes } from './verbs.ts';
import type { WriterClient } from './writer-client.ts';

/** Rows of one step of a long write: it holds the writer for some milliseconds. */
const ROWS_PER_STEP = 1000;
/** The rows of a retry are spread over the file, and so are their entries in the index of due times. */
const RETRIES_PER_STEP = 250;

/** The writes that are one request each. */
export function oneStepWrites(writer: WriterClient): Pick<Store, OneStepWrite> {
  const verb =
    <K extends OneStepWrite>(name: K) =>
    (...args: Parameters<Writes[K]>) =>
      writer.write(name, ...args);
  return {
    createAccount: verb('createAccount'),
    setAccountStatus: verb('setAccountStatus'),
    changeAccount: verb('changeAccount'),
    createKey: verb('createKey'),
    revokeKey: verb('revokeKey'),
    renameKey: verb('renameKey'),
    touchKeys: verb('touchKeys'),
    addConfirmedRecipient: verb('addConfirmedRecipient'),
    removeConfirmedRecipient: verb('removeConfirmedRecipient'),
    createDomain: verb('createDomain'),
    deleteDomain: verb('deleteDomain'),
    addNextDkimKey: verb('addNextDkimKey'),
    activateDkimKey: verb('activateDkimKey'),
    finishDomainCheck: verb('finishDomainCheck'),
    accept: verb('accept'),
    begin: verb('begin'),
    noteSent: verb('noteSent'),
    finish: verb('finish'),
    releaseLeases: verb('releaseLeases'),
    createEndpoint: verb('createEndpoint'),
    updateEndpoint: verb('updateEndpoint'),
    rotateEndpointSecret: verb('rotateEndpointSecret'),
    deleteEndpoint: verb('deleteEndpoint'),
    beginCalls: verb('beginCalls'),
    finishCall: verb('finishCall'),
    recordTestCall: verb('recordTestCall'),
    replayCalls: verb('replayCalls'),
    missCalls: verb('missCalls'),
    addSuppression: verb('addSuppression'),
    removeSuppression: verb('removeSuppression'),
    createOperator: verb('createOperator'),
    removeOperator: verb('removeOperator'),
    setOperatorPassword: verb('setOperatorPassword'),
    setOperatorTotp: verb('setOperatorTotp'),
    noteSignIn: verb('noteSignIn'),
    takeTotpStep: verb('takeTotpStep'),
    takeRecoveryHash: verb('takeRecoveryHash'),
    addAudit: verb('addAudit'),
    setSetting: verb('setSetting'),
    replaceSecrets: verb('replaceSecrets'),
  };
}

/** Adds suppressions, however many. */
export function suppressionSteps(writer: WriterClient): Pick<Store, 'addSuppressions'> {
  return {
    async addSuppressions(rows) {
      let added = 0;
      for (let at = 0; at < rows.length; at += ROWS_PER_STEP) {
        added += await writer.write('addSuppressionsStep', rows.slice(at, at + ROWS_PER_STEP));
      }
      return added;
    },
  };
}

/** Makes recipients due, however many. `count`: how many a retry concerns, as it stands before. */
export function retrySteps(
  writer: WriterClient,
  count: (...args: Parameters<Store['retryNow']>) => Promise<number>,
): Pick<Store, 'retryNow'> {
  return {
    async retryNow(target, now) {
      const total = await count(target, now);
      let next: string | null = '';
      while (next !== null) {
        next = await writer.write('retryStep', target, now, next, RETRIES_PER_STEP);
      }
      return total;
    },
  };
}
