import type { ApiKeyList, ApiKeySecret } from '@recount/contract';
import { canSignIn, ROLES, type Role, SCOPE_WORDS } from '@recount/contract/access';
import { useMutation } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Answered } from '../../ui/states.tsx';
import { CreateForm, Options } from './admin-forms.tsx';
import type { Asked } from './key-questions.tsx';
import { NewMachine } from './new-machine.tsx';
import { WideTable } from './wide-table.tsx';

type Key = ApiKeyList['keys'][number];
type Scope = NonNullable<Body<'/v1/keys', 'post'>['scopes']>[number];
/** Machines fetch and use keys independently of this page. */
const REFETCH_MS = 10_000;

const KeyQuestion = lazy(async () => ({ default: (await import('./key-questions.tsx')).KeyQuestion }));

const SCOPES: readonly Scope[] = ['ingest', 'read', 'figures', 'own', 'team', 'people', 'texts', 'admin'];
/** An empty name stands for scopes that are chosen one by one. */
const KEY_ROLES: readonly [Exclude<Role, 'operator'> | '', string][] = [
  ['', 'Custom'],
  ['viewer', 'Viewer: figures of everyone, texts of own sessions'],
  ['member', 'Member: a viewer who uploads'],
  ['team-lead', 'Team lead: a viewer who sees names in own teams only'],
  ['auditor', 'Auditor: texts of everyone, each read logged'],
  ['admin', 'Admin: everything'],
  ['enrol', 'Enrolment: machines exchange it for their own upload key'],
];
const DAY_MS = 24 * 60 * 60_000;
const LIFETIMES = [
  ['', 'never'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
] as const;

/** The workspace's keys. Creates, rotates and revokes them, and makes links. A secret is shown once. */
export function Keys(): ReactNode {
  const keys = useAnswer('/v1/keys', {}, { refetchIntervalMs: REFETCH_MS });
  const whoami = useAnswer('/v1/whoami', {});
  const [secret, setSecret] = useState<ApiKeySecret>();
  const [asked, setAsked] = useState<Asked>();
  const done = (made?: ApiKeySecret, next?: Asked): void => {
    setSecret(next === undefined ? made : undefined);
    setAsked(next);
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
        {({ keys: all }) => {
          const table = { ownId: whoami.data?.key_id, ask: setAsked };
          return (
            <>
              <KeyTable label="API keys" keys={all.filter(({ enrolled_by }) => enrolled_by === null)} {...table} />
              {all.map((key) => (
                <Machines key={key.id} of={key} keys={all} {...table} />
              ))}
            </>
          );
        }}
      </Answered>
      {secret !== undefined && <Secret secret={secret} close={() => setSecret(undefined)} />}
      <Suspense>
        {asked !== undefined && <KeyQuestion asked={asked} close={() => setAsked(undefined)} done={done} />}
      </Suspense>
    </section>
  );
}

type KeyRole = (typeof KEY_ROLES)[number][0];

interface NewKeyRequest {
  body: Body<'/v1/keys', 'post'>;
  /** True if a sign-in link for a person is made next. */
  isForPerson: boolean;
}

function NewKey({ done }: { done: (made: ApiKeySecret, next?: Asked) => void }): ReactNode {
  const make = useMutation({
    mutationFn: ({ body }: NewKeyRequest) => send('post', '/v1/keys', { body }),
    onSuccess: (made, { body: { name }, isForPerson }) =>
      done(made, isForPerson ? { what: 'link', key: { id: made.id, name } } : undefined),
  });
  const [role, setRole] = useState<KeyRole>('');
  const [isOwn, setIsOwn] = useState(false);
  const needsOwner = role === '' ? isOwn : ROLES[role].some((scope) => scope === 'own');
  return (
    <CreateForm label="Create key" of={make} toRequest={(form) => toKeyRequest(form, role)}>
      <label>
        Name
        <input name="name" required maxLength={200} placeholder="ci, laptop of Ada, dashboard of the team" />
      </label>
      <label>
        Role
        <select value={role} onChange={({ target }) => setRole(target.value as KeyRole)}>
          <Options of={KEY_ROLES} />
        </select>
      </label>
      {role === '' && <Permissions onOwn={setIsOwn} />}
      {role === 'enrol' ? (
        <label>
          Machines at most (optional)
          <input name="machines" type="number" min={1} max={1_000_000} />
        </label>
      ) : (
        <label>
          Owner {needsOwner ? '(whose sessions are their own)' : '(optional; otherwise set by the uploader)'}
          <input name="person" maxLength={200} placeholder="ada@example.org" required={needsOwner} />
        </label>
      )}
      <label>
        Expires
        <select name="days" defaultValue="90">
          <Options of={LIFETIMES} />
        </select>
      </label>
      {role !== '' && canSignIn(ROLES[role]) && (
        <label>
          Hand over
          <select name="give">
            <option value="key">the key, for programs</option>
            <option value="link">a link that signs in once, for a person</option>
          </select>
        </label>
      )}
    </CreateForm>
  );
}

const Permissions = ({ onOwn }: { onOwn: (isOwn: boolean) => void }): ReactNode => (
  <fieldset className="row">
    <legend>Permissions</legend>
    {SCOPES.map((scope) => (
      <label key={scope} className="row">
        <input
          type="checkbox"
          name="scopes"
          value={scope}
          defaultChecked={scope === 'ingest'}
          onChange={scope === 'own' ? ({ target }) => onOwn(target.checked) : undefined}
        />{' '}
        {SCOPE_WORDS[scope]}
      </label>
    ))}
  </fieldset>
);

function toKeyRequest(form: HTMLFormElement, role: KeyRole): NewKeyRequest {
  const data = new FormData(form);
  const days = String(data.get('days'));
  const person = String(data.get('person') ?? '').trim();
  const machines = String(data.get('machines') ?? '');
  const body = {
    name: String(data.get('name')).trim(),
    ...(role === '' ? { scopes: data.getAll('scopes') as Scope[] } : { role }),
    ...(person !== '' && { person }),
    ...(machines !== '' && { machine_limit: Number(machines) }),
    expires_at: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
  };
  return { body, isForPerson: data.get('give') === 'link' };
}

interface KeyTableProps {
  keys: readonly Key[];
  ownId: string | undefined;
  ask: (asked: Asked) => void;
}

/** The machines that enrolled with a key, which may be a whole fleet; nothing for other keys. */
function Machines({ of, keys, ...table }: KeyTableProps & { of: Key }): ReactNode {
  const machines = keys.filter(({ enrolled_by }) => enrolled_by === of.id);
  if (of.role !== 'enrol') return null;
  const valid = machines.filter(({ revoked_at }) => revoked_at === null).length;
  return (
    <details>
      <summary>
        Machines enrolled with {of.name}: {valid}
        {of.machine_limit !== null && ` of at most ${of.machine_limit}`}
      </summary>
      <KeyTable label={`Machines enrolled with ${of.name}`} keys={machines} {...table} />
    </details>
  );
}

function KeyTable({ label, keys, ownId, ask }: KeyTableProps & { label: string }): ReactNode {
  const columns: PlainColumn<Key>[] = [
    {
      head: 'Name',
      title: ({ id }) => id,
      cell: ({ id, name }) => (
        <>
          {name} {id === ownId && <span className="tag">yours</span>}
        </>
      ),
    },
    { head: 'Key', cell: ({ hint }) => <code>{hint}</code> },
    {
      head: 'Permissions',
      title: ({ scopes }) => scopes.join(', '),
      cell: ({ role, scopes }) => role ?? scopes.join(', '),
    },
    {
      head: 'Owner',
      cell: ({ person, role }) => person ?? <span className="muted">{role === 'enrol' ? '–' : 'set by uploader'}</span>,
    },
    { head: 'Created', cell: ({ created_at }) => <Time iso={created_at} /> },
    { head: 'Last used', cell: ({ last_used_at }) => <Time iso={last_used_at} /> },
    { head: 'Expires', cell: ({ expires_at }) => (expires_at === null ? 'never' : <Time iso={expires_at} />) },
    { head: 'State', cell: (key) => <KeyActions apiKey={key} isOwn={key.id === ownId} ask={ask} /> },
  ];
  return <WideTable label={label} columns={columns} rows={keys} toKey={({ id }) => id} />;
}

/** The current user's own key cannot be changed here: without it, the page would no longer work. */
function KeyActions({ apiKey, isOwn, ask }: { apiKey: Key; isOwn: boolean; ask: (asked: Asked) => void }): ReactNode {
  const { issuer, name, scopes, sign_in_link_expires_at: linkEnd, revoked_at } = apiKey;
  const action = (what: Asked['what'], label: string, why?: string): ReactNode => (
    <button
      type="button"
      className={what === 'revoke' ? 'danger' : undefined}
      disabled={why !== undefined}
      title={why}
      onClick={() => ask({ what, key: apiKey })}
    >
      {label}
      <span className="hidden-label"> {name}</span>
    </button>
  );
  if (revoked_at !== null)
    return (
      <div className="row">
        <span className="tag error">revoked</span>
        {issuer !== null && action('restore', 'Allow again')}
      </div>
    );
  const own = isOwn ? 'You are signed in with this key' : undefined;
  return (
    <div className="row">
      {issuer === null && canSignIn(scopes) && action('link', linkEnd === null ? 'Link' : 'Link is open')}
      {action('rotate', 'Rotate', issuer === null ? own : 'Its account signs in with a provider')}
      {action('revoke', 'Revoke', own)}
    </div>
  );
}

const Secret = ({ secret: { key }, close }: { secret: ApiKeySecret; close: () => void }): ReactNode => (
  <Modal title="The secret is shown only once" close={close}>
    <p>Store it where only its owner can read it: the server has only its hash.</p>
    <ShownOnce text={key} close={close} />
  </Modal>
);
