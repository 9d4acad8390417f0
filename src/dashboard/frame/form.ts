/**
 * Forms: fields with label, hint and message, and a refused form shown again as it was filled in.
 *
 * A page writes its form once, with `form`, and hands it the visit: whoever may not post it sees none, and after a refusal
 * (`../refusal.ts`) the form that was posted keeps its values and shows each message at its field. A password is never
 * written back.
 */
import { html, type Html, type HtmlValue } from './html.ts';
import type { RefusedForm, Visit } from './visit.ts';

interface FieldBase {
  name: string;
  label: string;
  /** Below the field: what is expected, what it is for. */
  hint?: HtmlValue;
}

export type FieldSpec =
  | (FieldBase & {
      kind: 'text';
      type?:
        | 'text'
        | 'email'
        | 'url'
        | 'password'
        | 'number'
        | 'search'
        | 'date'
        | 'datetime-local';
      value?: string | number | null;
      required?: boolean;
      maxLength?: number;
      placeholder?: string;
      autocomplete?: string;
    })
  | (FieldBase & { kind: 'area'; value?: string | null; rows?: number; maxLength?: number })
  | (FieldBase & {
      kind: 'select';
      value?: string | null;
      options: readonly (readonly [value: string, label: string])[];
    })
  | (FieldBase & {
      kind: 'checks';
      values?: readonly string[];
      options: readonly (readonly [value: string, label: HtmlValue, isDisabled?: boolean])[];
    })
  | (FieldBase & { kind: 'check'; checked?: boolean })
  | (FieldBase & { kind: 'file'; accept: string })
  | { kind: 'hidden'; name: string; value: string };

export interface FormSpec {
  to: string;
  /** Prefix of the ids of its fields; needed where a page has several forms with fields of one name. */
  id?: string;
  fields: readonly FieldSpec[];
  /** The label of its button. */
  submit: string;
  kind?: 'primary' | 'danger';
  /** Links and words beside the button. */
  beside?: HtmlValue;
}

/** A form that posts; null for whom it would refuse. A refusal of another form of the page changes nothing. */
export function form(visit: Pick<Visit, 'may' | 'refused'>, spec: FormSpec): Html | null {
  if (!visit.may('POST', spec.to)) return null;
  const refused = visit.refused?.action === spec.to ? visit.refused : null;
  const hasFile = spec.fields.some(({ kind }) => kind === 'file');
  return html`<form
    class="fields"
    method="post"
    action="${spec.to}"
    ${hasFile && html`enctype="multipart/form-data"`}
  >
    ${spec.fields.map((field) => fieldOf(field, refused, spec.id))}
    <p class="submit">
      <button class="${spec.kind ?? 'primary'}">${spec.submit}</button> ${spec.beside}
    </p>
  </form>`;
}

/** `events[1]` and `range.from` belong to the fields `events` and `range`. */
function rootOf(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? '';
}

/** One field with its label, hint and message; for forms that are more than a list of fields. */
export function fieldOf(spec: FieldSpec, refused: RefusedForm | null, prefix = 'f'): Html {
  if (spec.kind === 'hidden') {
    return html`<input type="hidden" name="${spec.name}" value="${spec.value}" />`;
  }
  const id = `${prefix}-${spec.name}`;
  const messages = Array.from(refused?.issues ?? []).filter(([path]) => rootOf(path) === spec.name);
  const about = html`${spec.hint !== undefined && html`<span class="hint" id="${id}-hint">${spec.hint}</span>`}
  ${
    messages.length > 0 &&
    html`<span class="message" id="${id}-message"
      >${messages.map(([, message]) => message).join(' ')}</span
    >`
  }`;
  const described = [
    ...(spec.hint === undefined ? [] : [`${id}-hint`]),
    ...(messages.length === 0 ? [] : [`${id}-message`]),
  ].join(' ');
  const marks = html`${described !== '' && html`aria-describedby="${described}"`}
  ${messages.length > 0 && html`aria-invalid="true"`}`;
  if (spec.kind === 'checks') return checks(spec, refused, marks, about);
  if (spec.kind === 'check') {
    const isOn = refused === null ? spec.checked === true : refused.fields.has(spec.name);
    return html`<p class="field check">
      <label
        ><input type="checkbox" name="${spec.name}" value="on" ${marks} ${isOn && html`checked`} />
        ${spec.label}</label
      >${about}
    </p>`;
  }
  return html`<p class="field">
    <label for="${id}">${spec.label}</label>
    ${control(spec, id, refused?.fields.get(spec.name) ?? null, marks)} ${about}
  </p>`;
}

function control(
  spec: Extract<FieldSpec, { kind: 'text' | 'area' | 'select' | 'file' }>,
  id: string,
  entered: string | null,
  marks: Html,
): Html {
  const value = entered ?? ('value' in spec ? String(spec.value ?? '') : '');
  switch (spec.kind) {
    case 'area':
      return html`<textarea
        id="${id}"
        name="${spec.name}"
        rows="${spec.rows ?? 4}"
        ${spec.maxLength !== undefined && html`maxlength="${spec.maxLength}"`}
        ${marks}
      >
${value}</textarea>`;
    case 'select':
      return html`<select id="${id}" name="${spec.name}" ${marks}>
        ${spec.options.map(
          ([key, label]) =>
            html`<option value="${key}" ${key === value && html`selected`}>${label}</option>`,
        )}
      </select>`;
    case 'file':
      return html`<input
        type="file"
        id="${id}"
        name="${spec.name}"
        accept="${spec.accept}"
        ${marks}
      />`;
    case 'text':
      return html`<input
        type="${spec.type ?? 'text'}"
        id="${id}"
        name="${spec.name}"
        value="${spec.type === 'password' ? '' : value}"
        ${spec.required === true && html`required`}
        ${spec.maxLength !== undefined && html`maxlength="${spec.maxLength}"`}
        ${spec.placeholder !== undefined && html`placeholder="${spec.placeholder}"`}
        ${spec.autocomplete !== undefined && html`autocomplete="${spec.autocomplete}"`}
        ${marks}
      />`;
  }
}

function checks(
  spec: Extract<FieldSpec, { kind: 'checks' }>,
  refused: RefusedForm | null,
  marks: Html,
  about: Html,
): Html {
  const chosen = new Set(refused?.fields.getAll(spec.name) ?? spec.values ?? []);
  return html`<fieldset class="field checks" ${marks}>
    <legend>${spec.label}</legend>
    ${spec.options.map(
      ([value, label, isDisabled]) =>
        html`<label
          ><input
            type="checkbox"
            name="${spec.name}"
            value="${value}"
            ${chosen.has(value) && html`checked`}
            ${isDisabled === true && html`disabled`}
          />
          ${label}</label
        >`,
    )}
    ${about}
  </fieldset>`;
}

/** The filters of a list: they answer while they are changed, and by their button without a script. */
export function filters(
  path: string,
  fields: readonly FieldSpec[],
  beside: HtmlValue = null,
): Html {
  return html`<form class="filters" method="get" action="${path}" role="search" data-swap="">
    ${fields.map((field) => fieldOf(field, null, 'q'))}
    <p class="submit"><button class="plain">Filter</button> ${beside}</p>
  </form>`;
}
