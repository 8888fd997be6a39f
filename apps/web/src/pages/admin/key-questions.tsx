import type { ApiKeyList, ApiKeySecret } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Options } from './admin-forms.tsx';

type Key = Pick<ApiKeyList['keys'][number], 'id' | 'name'> & Partial<ApiKeyList['keys'][number]>;

/** An action on a key that awaits confirmation. */
export interface Asked {
  what: 'link' | 'restore' | 'revoke' | 'rotate';
  key: Key;
}

interface QuestionProps {
  apiKey: Key;
  close: () => void;
  done: (made?: ApiKeySecret) => void;
}

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const GRACES = [
  [0, 'immediately'],
  [HOUR_MS, 'in an hour'],
  [DAY_MS, 'in a day'],
  [7 * DAY_MS, 'in a week'],
] as const;
const LINK_LIFETIMES = [
  [HOUR_MS, 'an hour'],
  [DAY_MS, 'a day'],
  [7 * DAY_MS, 'a week'],
] as const;

const QUESTIONS = { link: SignInLink, restore: Restoration, revoke: Revocation, rotate: Rotation };

/** Asks before it changes a key. */
export function KeyQuestion({ asked, ...props }: Omit<QuestionProps, 'apiKey'> & { asked: Asked }): ReactNode {
  const Question = QUESTIONS[asked.what];
  return <Question key={asked.key.id} apiKey={asked.key} {...props} />;
}

function Rotation({ apiKey: { id, name }, close, done }: QuestionProps): ReactNode {
  const [graceMs, setGraceMs] = useState(0);
  const rotate = useMutation({
    mutationFn: (body: Body<'/v1/keys/{key_id}/rotate', 'post'>) =>
      send('post', '/v1/keys/{key_id}/rotate', { parameters: { key_id: id }, body }),
    onSuccess: (made) => done(made),
  });
  return (
    <Modal title={`A new secret for ${name}`} close={close}>
      <p>Id, name and scopes stay, and so do its uploads.</p>
      <label className="row">
        The old secret ends
        <select value={graceMs} onChange={({ target }) => setGraceMs(Number(target.value))}>
          <Options of={GRACES} />
        </select>
      </label>
      <DialogButtons
        label="Make a new secret"
        of={rotate}
        act={() => rotate.mutate({ grace_ms: graceMs })}
        close={close}
      />
    </Modal>
  );
}

function Revocation({ apiKey: { id, issuer, last_used_at, name }, close, done }: QuestionProps): ReactNode {
  const revoke = useMutation({
    mutationFn: () => send('delete', '/v1/keys/{key_id}', { parameters: { key_id: id } }),
    onSuccess: () => done(),
  });
  return (
    <Modal title={`Revoke ${name}?`} close={close}>
      <p>
        It is refused from now on, and so are keys that it created or rotated, and browsers that signed in with it.
        Their uploads stay.{' '}
        {last_used_at == null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Time iso={last_used_at} />.
          </>
        )}
      </p>
      <p>
        {issuer == null
          ? 'This is final. To give access again, create another key for the same owner.'
          : 'Its account can no longer sign in, until you allow it again here.'}
      </p>
      <DialogButtons label="Revoke it" of={revoke} act={() => revoke.mutate()} isDanger close={close} />
    </Modal>
  );
}

function Restoration({ apiKey: { id, name }, close, done }: QuestionProps): ReactNode {
  const restore = useMutation({
    mutationFn: () => send('post', '/v1/keys/{key_id}/restore', { parameters: { key_id: id } }),
    onSuccess: () => done(),
  });
  return (
    <Modal title={`Allow ${name} again?`} close={close}>
      <p>
        The account can sign in with its provider again, with the role that its groups give it then. Keys that it had
        made stay revoked.
      </p>
      <DialogButtons label="Allow it" of={restore} act={() => restore.mutate()} close={close} />
    </Modal>
  );
}

function SignInLink({ apiKey, close, done }: QuestionProps): ReactNode {
  const { id, name, sign_in_link_expires_at: openUntil = null } = apiKey;
  const [validMs, setValidMs] = useState<number>(DAY_MS);
  const parameters = { key_id: id };
  const make = useMutation({
    mutationFn: () => send('post', '/v1/keys/{key_id}/sign-in-link', { parameters, body: { valid_ms: validMs } }),
  });
  const withdraw = useMutation({
    mutationFn: () => send('delete', '/v1/keys/{key_id}/sign-in-link', { parameters }),
    onSuccess: () => done(),
  });
  if (make.data !== undefined)
    return (
      <Modal title="The link is shown only once" close={() => done()}>
        <p>
          Who opens it first is signed in with {name}, until <Time iso={make.data.expires_at} /> at the latest. Send it
          so that only its owner reads it.
        </p>
        <ShownOnce text={location.origin + make.data.path} close={() => done()} />
      </Modal>
    );
  return (
    <Modal title={`A link that signs in with ${name}`} close={close}>
      <p>It works once, in any browser, and gives what the key gives: its role, and the sessions of its owner.</p>
      {openUntil !== null && (
        <p>
          A link made before is open until <Time iso={openUntil} />. A new one replaces it.{' '}
          <button type="button" disabled={withdraw.isPending} onClick={() => withdraw.mutate()}>
            Withdraw it
          </button>
        </p>
      )}
      <label className="row">
        It may be used for
        <select value={validMs} onChange={({ target }) => setValidMs(Number(target.value))}>
          <Options of={LINK_LIFETIMES} />
        </select>
      </label>
      <DialogButtons
        label="Make the link"
        of={{ isPending: make.isPending, error: make.error ?? withdraw.error }}
        act={() => make.mutate()}
        close={close}
      />
    </Modal>
  );
}
