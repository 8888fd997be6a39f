import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Answer, type Body, send } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Count, Money, Time } from '../../ui/figures.tsx';
import { Form } from '../../ui/form.tsx';
import { Modal } from '../../ui/modal.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { CreateForm } from './admin-forms.tsx';
import { PeopleFile } from './people-file.tsx';
import { PersonFields, toPersonChange } from './person-fields.tsx';
import { refreshPeople } from './refresh-people.ts';
import { Teams } from './teams.tsx';
import { Unattributed } from './unattributed.tsx';
import { WideTable } from './wide-table.tsx';

type Person = Answer<'/v1/people'>['people'][number];
type Asked = { what: 'edit' | 'merge' | 'delete'; person: Person };

/** Rows of a page; the search finds the others. */
const SHOWN_ROWS = 200;

/** People with the names of their sessions, teams, and names that no person has. */
export function People(): ReactNode {
  const [search, setSearch] = useState('');
  const people = useAnswer('/v1/people', { ...(search !== '' && { search }), figures: 'true', limit: SHOWN_ROWS });
  const [asked, setAsked] = useState<Asked>();
  const close = (): void => setAsked(undefined);
  return (
    <>
      <section aria-labelledby="people">
        <h2 id="people">People</h2>
        <p className="muted">
          Sessions arrive under several names of one person. Say who has which, and all reports show the person, the
          team and the cost centre.
        </p>
        <NewPerson />
        <PeopleFile />
        <label className="row">
          Find a person
          <input type="search" value={search} maxLength={255} onChange={(event) => setSearch(event.target.value)} />
        </label>
        <Answered of={people}>
          {({ people: all, next_cursor: next }) =>
            all.length === 0 ? (
              <Empty title={search === '' ? 'No people yet' : 'No person has such a name'} />
            ) : (
              <>
                <WideTable label="People" columns={toColumns(setAsked)} rows={all} toKey={({ id }) => id} />
                {next !== null && <p className="muted">These are the first {SHOWN_ROWS}. Search for the others.</p>}
              </>
            )
          }
        </Answered>
      </section>
      <Unattributed />
      <Teams />
      {asked?.what === 'edit' && <Edit person={asked.person} close={close} />}
      {asked?.what === 'merge' && <Merge person={asked.person} close={close} />}
      {asked?.what === 'delete' && <Deletion person={asked.person} close={close} />}
    </>
  );
}

const toColumns = (ask: (asked: Asked) => void): PlainColumn<Person>[] => [
  {
    head: 'Person',
    cell: ({ display_name: name, left_on }) => (
      <>
        <Link to="/person" search={{ person: name, period: 'all' } as never}>
          {toVisible(name)}
        </Link>
        {left_on !== null && <span className="tag">left {left_on}</span>}
      </>
    ),
  },
  { head: 'E-mail', cell: ({ email }) => email },
  { head: 'Team', cell: ({ team }) => team ?? <span className="muted">No team</span> },
  { head: 'Cost centre', cell: ({ cost_centre }) => cost_centre },
  { head: 'Sessions', isFigure: true, cell: ({ figures }) => <Count value={figures?.sessions ?? 0} /> },
  { head: 'Cost', isFigure: true, cell: ({ figures }) => <Money value={figures?.cost_usd ?? null} /> },
  { head: 'Last activity', cell: ({ figures }) => <Time iso={figures?.last_timestamp ?? null} /> },
  { head: 'Names', cell: (person) => <Names of={person} /> },
  { head: 'Change', cell: (person) => <Actions of={person} ask={ask} /> },
];

const Names = ({ of: { display_name, email, names, merged } }: { of: Person }): ReactNode => (
  <>
    {names
      .filter((each) => each !== display_name && each !== email)
      .map(toVisible)
      .join(', ')}
    {merged.map(({ id, display_name: name }) => (
      <span key={id} className="tag">
        {toVisible(name)}{' '}
        <ActButton
          label="Undo merge"
          about={`of ${toVisible(name)}`}
          act={() => send('delete', '/v1/people/{person_id}/merge', { parameters: { person_id: id } })}
          refresh={refreshPeople}
        />
      </span>
    ))}
  </>
);

function Actions({ of: person, ask }: { of: Person; ask: (asked: Asked) => void }): ReactNode {
  const hidden = <span className="hidden-label"> {toVisible(person.display_name)}</span>;
  return (
    <span className="row">
      <button type="button" onClick={() => ask({ what: 'edit', person })}>
        Edit{hidden}
      </button>
      <button type="button" onClick={() => ask({ what: 'merge', person })}>
        Merge{hidden}
      </button>
      <button type="button" className="danger" onClick={() => ask({ what: 'delete', person })}>
        Delete{hidden}
      </button>
    </span>
  );
}

function NewPerson(): ReactNode {
  const make = useMutation({
    mutationFn: (body: Body<'/v1/people', 'post'>) => send('post', '/v1/people', { body }),
    onSuccess: refreshPeople,
  });
  return (
    <CreateForm label="Add person" of={make} toRequest={(form) => toPersonChange(form) as Body<'/v1/people', 'post'>}>
      <PersonFields />
    </CreateForm>
  );
}

function Edit({ person, close }: { person: Person; close: () => void }): ReactNode {
  const save = useMutation({
    mutationFn: (body: Body<'/v1/people/{person_id}', 'patch'>) =>
      send('patch', '/v1/people/{person_id}', { parameters: { person_id: person.id }, body }),
    onSuccess: async () => {
      close();
      await refreshPeople();
    },
  });
  return (
    <Modal title={`Edit ${toVisible(person.display_name)}`} close={close}>
      <Form className="admin-form" submit={(form) => save.mutate(toPersonChange(form, person))}>
        <PersonFields person={person} />
        {person.memberships.length > 1 && (
          <p className="muted">
            Teams so far:{' '}
            {person.memberships
              .map(({ team, from }) => `${team ?? 'no team'}${from === null ? '' : ` from ${from}`}`)
              .join('; ')}
          </p>
        )}
        <button type="submit" className="primary" disabled={save.isPending}>
          Save
        </button>
        {save.error !== null && <Failure error={save.error} />}
      </Form>
    </Modal>
  );
}

function Merge({ person, close }: { person: Person; close: () => void }): ReactNode {
  const [search, setSearch] = useState('');
  const found = useAnswer('/v1/people', { search, limit: 10 }, { isEnabled: search !== '' });
  const merge = useMutation({
    mutationFn: (into: string) =>
      send('put', '/v1/people/{person_id}/merge', { parameters: { person_id: person.id }, body: { into } }),
    onSuccess: async () => {
      close();
      await refreshPeople();
    },
  });
  const others = search === '' ? [] : (found.data?.people ?? []).filter(({ id }) => id !== person.id);
  return (
    <Modal title={`Merge ${toVisible(person.display_name)} into another person`} close={close}>
      <div className="admin-form">
        <p>
          The names of {toVisible(person.display_name)} count as the other person’s, whose team holds. You can undo it.
        </p>
        <label>
          Find the other person
          <input type="search" value={search} maxLength={255} onChange={(event) => setSearch(event.target.value)} />
        </label>
        {others.map(({ id, display_name: name }) => (
          <button key={id} type="button" disabled={merge.isPending} onClick={() => merge.mutate(id)}>
            Merge into {toVisible(name)}
          </button>
        ))}
        {merge.error !== null && <Failure error={merge.error} />}
      </div>
    </Modal>
  );
}

function Deletion({ person, close }: { person: Person; close: () => void }): ReactNode {
  const remove = useMutation({
    mutationFn: () => send('delete', '/v1/people/{person_id}', { parameters: { person_id: person.id } }),
    onSuccess: async () => {
      close();
      await refreshPeople();
    },
  });
  return (
    <Modal title={`Delete ${toVisible(person.display_name)}?`} close={close}>
      <p>The sessions stay. Their names become unattributed, and are in no team.</p>
      <button type="button" className="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
        Delete person
      </button>
      {remove.error !== null && <Failure error={remove.error} />}
    </Modal>
  );
}
