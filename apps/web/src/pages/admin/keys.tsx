import type { ApiKeyList, ApiKeySecret } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { NewMachine } from './new-machine.tsx';
import { WideTable } from './wide-table.tsx';

type Key = ApiKeyList['keys'][number];
type Scope = Body<'/v1/keys', 'post'>['scopes'][number];
/** Machines fetch and use keys independently of this page. */
const REFETCH_MS = 10_000;

/** An action on a key that is awaiting confirmation. */
type Asked = { what: 'rotate' | 'revoke'; key: Key };

const SCOPES: readonly [Scope, string][] = [
  ['ingest', 'upload'],
  ['read', 'read everything'],
  ['admin', 'do everything, including deleting'],
];
const DAY_MS = 24 * 60 * 60_000;
const LIFETIMES = [
  ['', 'never'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
] as const;
const GRACES = [
  [0, 'immediately'],
  [60 * 60_000, 'in an hour'],
  [DAY_MS, 'in a day'],
  [7 * DAY_MS, 'in a week'],
] as const;

const createKey = (body: Body<'/v1/keys', 'post'>) => send('post', '/v1/keys', { body });

/** The workspace's keys. Creates, rotates and revokes them. A secret is shown once. */
export function Keys(): ReactNode {
  const keys = useAnswer('/v1/keys', {}, { refetchIntervalMs: REFETCH_MS });
  const whoami = useAnswer('/v1/whoami', {});
  const [secret, setSecret] = useState<ApiKeySecret>();
  const [asked, setAsked] = useState<Asked>();
  const done = (made?: ApiKeySecret): void => {
    setSecret(made);
    setAsked(undefined);
    void queryClient.invalidateQueries({ queryKey: ['/v1/keys'] });
  };
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      {whoami.data?.scopes.includes('admin') && (
        <>
          <NewKey done={done} />
          <NewMachine done={() => done()} />
        </>
      )}
      <Answered of={keys}>
        {({ keys: all }) => <KeyTable keys={all} ownId={whoami.data?.key_id} ask={setAsked} />}
      </Answered>
      {secret !== undefined && <Secret secret={secret} close={() => setSecret(undefined)} />}
      {asked?.what === 'rotate' && <Rotation apiKey={asked.key} close={() => setAsked(undefined)} done={done} />}
      {asked?.what === 'revoke' && <Revocation apiKey={asked.key} close={() => setAsked(undefined)} done={done} />}
    </section>
  );
}

function NewKey({ done }: { done: (made: ApiKeySecret) => void }): ReactNode {
  const make = useMutation({ mutationFn: createKey, onSuccess: done });
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const days = String(data.get('days'));
    const person = String(data.get('person')).trim();
    make.mutate(
      {
        name: String(data.get('name')).trim(),
        scopes: data.getAll('scopes') as Scope[],
        ...(person !== '' && { person }),
        expires_at: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
      },
      { onSuccess: () => form.reset() },
    );
  };
  return (
    <details className="panel new-key">
      <summary>Create key</summary>
      <form className="admin-form" onSubmit={onSubmit}>
        <label>
          Name
          <input name="name" required maxLength={200} placeholder="ci, laptop of Ada, dashboard of the team" />
        </label>
        <fieldset className="row">
          <legend>Permissions</legend>
          {SCOPES.map(([scope, label]) => (
            <label key={scope} className="row">
              <input type="checkbox" name="scopes" value={scope} defaultChecked={scope === 'ingest'} /> {label}
            </label>
          ))}
        </fieldset>
        <label>
          Owner (optional; otherwise set by the uploader)
          <input name="person" maxLength={200} placeholder="ada@example.org" />
        </label>
        <label>
          Expires
          <select name="days" defaultValue="90">
            {LIFETIMES.map(([days, label]) => (
              <option key={days} value={days}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" className="primary" disabled={make.isPending}>
          Create key
        </button>
        {make.error !== null && <Failure error={make.error} />}
      </form>
    </details>
  );
}

const HEADS = ['Name', 'Key', 'Permissions', 'Owner', 'Created', 'Last used', 'Expires', 'State'];

function KeyTable({
  keys,
  ownId,
  ask,
}: {
  keys: readonly Key[];
  ownId: string | undefined;
  ask: (asked: Asked) => void;
}): ReactNode {
  return (
    <WideTable label="API keys" columns={HEADS}>
      {keys.map((key) => (
        <tr key={key.id}>
          <td title={key.id}>
            {key.name} {key.id === ownId && <span className="tag">yours</span>}
          </td>
          <td>
            <code>{key.hint}</code>
          </td>
          <td>{key.scopes.join(', ')}</td>
          <td>{key.person ?? <span className="muted">set by uploader</span>}</td>
          <td>
            <Time iso={key.created_at} />
          </td>
          <td>
            <Time iso={key.last_used_at} />
          </td>
          <td>{key.expires_at === null ? 'never' : <Time iso={key.expires_at} />}</td>
          <td>
            {key.revoked_at === null ? (
              <KeyActions apiKey={key} isOwn={key.id === ownId} ask={ask} />
            ) : (
              <span className="tag error">revoked</span>
            )}
          </td>
        </tr>
      ))}
    </WideTable>
  );
}

/** The current user's own key cannot be changed here: without it, the page would no longer work. */
function KeyActions({ apiKey, isOwn, ask }: { apiKey: Key; isOwn: boolean; ask: (asked: Asked) => void }): ReactNode {
  const why = isOwn ? 'You are signed in with this key' : undefined;
  return (
    <div className="row">
      <button type="button" disabled={isOwn} title={why} onClick={() => ask({ what: 'rotate', key: apiKey })}>
        Rotate<span className="hidden-label"> {apiKey.name}</span>
      </button>
      <button
        type="button"
        className="danger"
        disabled={isOwn}
        title={why}
        onClick={() => ask({ what: 'revoke', key: apiKey })}
      >
        Revoke<span className="hidden-label"> {apiKey.name}</span>
      </button>
    </div>
  );
}

const Secret = ({ secret: { key }, close }: { secret: ApiKeySecret; close: () => void }): ReactNode => (
  <Modal title="The secret is shown only once" close={close}>
    <p>Store it where only its owner can read it: the server has only its hash.</p>
    <ShownOnce text={key} close={close} />
  </Modal>
);

interface QuestionProps {
  apiKey: Key;
  close: () => void;
  done: (made?: ApiKeySecret) => void;
}

function Rotation({ apiKey: { id, name }, close, done }: QuestionProps): ReactNode {
  const [graceMs, setGraceMs] = useState(0);
  const rotate = useMutation({
    mutationFn: (body: Body<'/v1/keys/{key_id}/rotate', 'post'>) =>
      send('post', '/v1/keys/{key_id}/rotate', { parameters: { key_id: id }, body }),
    onSuccess: done,
  });
  return (
    <Modal title={`A new secret for ${name}`} close={close}>
      <p>Id, name and scopes stay, and so do its uploads.</p>
      <label className="row">
        The old secret ends
        <select value={graceMs} onChange={({ target }) => setGraceMs(Number(target.value))}>
          {GRACES.map(([ms, label]) => (
            <option key={ms} value={ms}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <Actions
        label="Make a new secret"
        isPending={rotate.isPending}
        act={() => rotate.mutate({ grace_ms: graceMs })}
        close={close}
      />
      {rotate.error !== null && <Failure error={rotate.error} />}
    </Modal>
  );
}

function Revocation({ apiKey: { id, name, last_used_at }, close, done }: QuestionProps): ReactNode {
  const revoke = useMutation({
    mutationFn: () => send('delete', '/v1/keys/{key_id}', { parameters: { key_id: id } }),
    onSuccess: () => done(),
  });
  return (
    <Modal title={`Revoke ${name}?`} close={close}>
      <p>
        It is refused from now on, and so are keys that it created or rotated. Their uploads stay.{' '}
        {last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Time iso={last_used_at} />.
          </>
        )}
      </p>
      <Actions label="Revoke it" isDanger isPending={revoke.isPending} act={() => revoke.mutate()} close={close} />
      {revoke.error !== null && <Failure error={revoke.error} />}
    </Modal>
  );
}

interface ActionsProps {
  label: string;
  isDanger?: boolean;
  isPending: boolean;
  act: () => void;
  close: () => void;
}

const Actions = ({ label, isDanger = false, isPending, act, close }: ActionsProps): ReactNode => (
  <div className="row">
    <button type="button" className={isDanger ? 'danger' : 'primary'} disabled={isPending} onClick={act}>
      {label}
    </button>
    <button type="button" onClick={close}>
      Cancel
    </button>
  </div>
);
