/**
 * What an operator sees when a form was refused: the page it stands on, with what was entered and the reason.
 *
 * Promises that the menu stays that of the page, and that the response has the refusal's status. The form's component
 * shows values and messages again (`Visit.refused`); the reasons stand at the top too, for pages that do not.
 */
import { ApiError } from '../base/errors.ts';
import { html, type Html } from './frame/html.ts';
import { ROOT } from './frame/navigation.ts';
import type { Page, PageResponse, RefusedForm, Visit } from './frame/visit.ts';
import { formPage } from './pages/routes.ts';

/** A page that says why there is no other. */
export function errorPage(title: string, words: string): PageResponse {
  const body = html`<p class="notice bad" role="alert">${words}</p>
    <p><a class="button plain" href="${ROOT}">Back to the start</a></p>`;
  return { kind: 'page', title, account: null, body };
}

/** For a refusal that belongs to no form. */
export function refusalPage(error: ApiError): PageResponse {
  return {
    kind: 'page',
    title: 'The request was refused',
    account: null,
    body: alertOf(error),
  };
}

/** All reasons of a refusal, not only the first. */
function alertOf(error: ApiError): Html {
  const { message, issues } = reasonsOf(error);
  const words = message ?? [...issues.values()].join(' ');
  return html`<p class="notice bad" role="alert">${words}</p>`;
}

/**
 * The page that the refused form stands on, with the form as it was filled in. Null when there is none, or when it
 * cannot be shown: its account or object is gone. `path`: where the form was posted to, below `/dashboard`.
 */
export async function shownAgain(
  visit: Visit,
  { mainField }: Page,
  path: string,
  error: ApiError,
): Promise<PageResponse | null> {
  const found = formPage(path);
  if (found === null) return null;
  const refused: RefusedForm = {
    action: ROOT + path,
    fields: visit.form,
    ...reasonsOf(error, mainField),
  };
  const asked = { ...visit, params: found.params, form: new URLSearchParams(), refused };
  try {
    const result = await found.page.open(asked);
    if (result.kind !== 'page') return null;
    // Not live: a reload of this address would be no page, or would show the form as it was before.
    const { liveSeconds: _, ...still } = result;
    return { ...still, body: html`${alertOf(error)} ${result.body}` };
  } catch (fault) {
    if (fault instanceof ApiError) return null;
    throw fault;
  }
}

/** Every issue of a refusal by its field. `mainField`: the one that a refusal without a path is about. */
function reasonsOf(error: ApiError, mainField?: string): Pick<RefusedForm, 'issues' | 'message'> {
  const list = error.detail?.issues ?? [];
  if (list.length > 0) {
    return { issues: new Map(list.map(({ path, message }) => [path, message])), message: null };
  }
  if (mainField === undefined) return { issues: new Map(), message: error.message };
  return { issues: new Map([[mainField, error.message]]), message: null };
}
