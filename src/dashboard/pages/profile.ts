/**
 * What belongs to whoever is signed in: the own password, and the second factor with its recovery codes.
 *
 * Open to every role. Promises that each change asks for the present password, and that recovery codes are shown once.
 * In an emulator there is nobody to change anything for: `not_found`.
 */
import { ApiError, OperatorError, validationFailed } from '../../base/errors.ts';
import { operatorWith, setPassword } from '../../flow/people/operators.ts';
import { disableTotp, enableTotp, enrolmentOf, newSecret } from '../../flow/people/totp.ts';
import type { Enrolment } from '../../flow/people/totp.ts';
import type { Operator } from '../../store/people.ts';
import { form, type FieldSpec } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { card } from '../frame/table.ts';
import { copyable } from '../frame/values.ts';
import { field, type Page, type PageResponse, type Visit } from '../frame/visit.ts';

const PATH = `${ROOT}/profile`;

const PRESENT: FieldSpec = {
  kind: 'text',
  type: 'password',
  name: 'password',
  label: 'Present password',
  required: true,
  autocomplete: 'current-password',
};

export const profilePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/profile',
    async open(visit) {
      const operator = signedIn(visit);
      const body = html`${card('Password', passwordForm(visit))}
      ${card('Second factor', operator.sealedTotp === null ? enableForm(visit) : disableForm(visit))}`;
      return await Promise.resolve(pageOf(operator.name, body));
    },
  },
  {
    method: 'POST',
    path: '/profile/password',
    async open(visit) {
      const { name } = signedIn(visit);
      await requirePassword(visit);
      const chosen = visit.form.get('new_password') ?? '';
      try {
        await setPassword(visit.ctx, name, chosen);
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        throw validationFailed([{ path: 'new_password', message: error.message }]);
      }
      return { kind: 'redirect', to: PATH, done: 'saved' };
    },
  },
  {
    method: 'POST',
    path: '/profile/second-factor',
    async open(visit) {
      const operator = signedIn(visit);
      await requirePassword(visit);
      const code = field(visit, 'code');
      const codes = await enableTotp(visit.ctx, operator, field(visit, 'secret'), code);
      if (codes !== null) return recoveryPage(operator.name, codes);
      const message = 'The code is not one of this secret. Look at the clock of your phone.';
      throw validationFailed([{ path: 'code', message }]);
    },
  },
  {
    method: 'POST',
    path: '/profile/second-factor/off',
    async open(visit) {
      await requirePassword(visit);
      await disableTotp(visit.ctx, signedIn(visit));
      return { kind: 'redirect', to: PATH, done: 'saved' };
    },
  },
];

function pageOf(name: string, body: Html): PageResponse {
  return { kind: 'page', title: name, account: null, body };
}

function signedIn({ operator }: Visit): Operator {
  if (operator !== null) return operator;
  throw new ApiError('not_found', 'The emulator has no operators.');
}

async function requirePassword(visit: Visit): Promise<void> {
  const given = visit.form.get('password') ?? '';
  if ((await operatorWith(visit.ctx, signedIn(visit).name, given)) !== null) return;
  throw validationFailed([{ path: 'password', message: 'The present password is wrong.' }]);
}

function passwordForm(visit: Visit): Html | null {
  const chosen: FieldSpec = {
    kind: 'text',
    type: 'password',
    name: 'new_password',
    label: 'New password',
    hint: 'At least 15 characters. Every session ends, this one too.',
    required: true,
    autocomplete: 'new-password',
  };
  const to = `${PATH}/password`;
  const submit = 'Change password';
  return form(visit, { to, id: 'p', submit, fields: [PRESENT, chosen] });
}

function enableForm(visit: Visit): Html {
  const to = `${PATH}/second-factor`;
  // A refused form keeps its secret: it is in the app already.
  const kept = visit.refused?.action === to ? visit.refused.fields.get('secret') : null;
  const secret = kept !== null && /^[A-Z2-7]{32}$/.test(kept) ? kept : newSecret();
  const { name: service } = visit.ctx.config.startup.cluster;
  const enrolment = enrolmentOf(secret, signedIn(visit).name, service);
  return html`<p>
      Scan this with an authenticator app, or type the secret into it. From then on signing in asks
      for its code beside the password.
    </p>
    ${qrCode(enrolment)}
    <p>${copyable(secret, 'Copy the secret')}</p>
    ${form(visit, {
      to,
      id: 's',
      submit: 'Turn on',
      fields: [
        { kind: 'hidden', name: 'secret', value: secret },
        {
          kind: 'text',
          name: 'code',
          label: 'Code that the app shows',
          required: true,
          maxLength: 10,
          autocomplete: 'one-time-code',
        },
        PRESENT,
      ],
    })}`;
}

function disableForm(visit: Visit): Html {
  const left = signedIn(visit).recoveryCodes;
  const to = `${PATH}/second-factor/off`;
  return html`<p>Signing in asks for a code. Recovery codes left: ${left}.</p>
    ${form(visit, { to, id: 's', submit: 'Turn off', kind: 'danger', fields: [PRESENT] })}`;
}

function recoveryPage(name: string, codes: readonly string[]): PageResponse {
  return pageOf(
    name,
    html`<p class="notice good" role="status">The second factor is on.</p>
      <p>
        Keep these recovery codes where your phone is not. Each replaces a code once; they are not
        shown again.
      </p>
      <ul>
        ${codes.map((code) => html`<li><code>${code}</code></li>`)}
      </ul>
      <p><a href="${PATH}">Back</a></p>`,
  );
}

/** Dark on white in every theme: cameras need it so. */
function qrCode({ modules }: Enrolment): Html {
  const side = modules.length;
  const squares = modules.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return html`<svg
    viewBox="0 0 ${side} ${side}"
    width="220"
    height="220"
    role="img"
    aria-label="QR code of the secret"
    shape-rendering="crispEdges"
  >
    <rect width="${side}" height="${side}" fill="#fff" />
    <path d="${squares.join('')}" fill="#000" />
  </svg>`;
}
