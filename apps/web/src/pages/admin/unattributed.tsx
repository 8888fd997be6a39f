import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Answer, get, send } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Money, Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { refreshPeople } from './refresh-people.ts';
import { WideTable } from './wide-table.tsx';

type Name = Answer<'/v1/people/unattributed'>['names'][number];

const SHOWN_ROWS = 50;

const COLUMNS: readonly PlainColumn<Name>[] = [
  { head: 'Name', cell: ({ name }) => (name === null ? <span className="muted">No name</span> : toVisible(name)) },
  { head: 'Sessions', isFigure: true, cell: ({ sessions }) => <Count value={sessions} /> },
  { head: 'Cost', isFigure: true, cell: ({ cost_usd }) => <Money value={cost_usd} /> },
  { head: 'Last activity', cell: ({ last_timestamp }) => <Time iso={last_timestamp} /> },
  {
    head: 'Belongs to',
    cell: ({ name, suggestions }) =>
      name === null ? (
        <span className="muted">Their uploads named no one</span>
      ) : (
        <Assignment name={name} suggestions={suggestions} />
      ),
  },
];

/** Names of sessions that no person has: a list to work off. */
export function Unattributed(): ReactNode {
  const list = useAnswer('/v1/people/unattributed', { limit: SHOWN_ROWS });
  return (
    <section aria-labelledby="unattributed">
      <h2 id="unattributed">Unattributed</h2>
      <Answered of={list}>
        {({ names, next_cursor: next }) =>
          names.length === 0 ? (
            <Empty title="Every session belongs to a person" />
          ) : (
            <>
              <WideTable label="Unattributed names" columns={COLUMNS} rows={names} toKey={({ name }) => name ?? ''} />
              {next !== null && <p className="muted">These are the {SHOWN_ROWS} most expensive.</p>}
            </>
          )
        }
      </Answered>
    </section>
  );
}

function Assignment({ name, suggestions }: { name: string; suggestions: Name['suggestions'] }): ReactNode {
  const assign = useMutation({
    mutationFn: async (person: Name['suggestions'][number] | undefined) => {
      if (person === undefined) return await send('post', '/v1/people', { body: { display_name: name } });
      const { people } = await get('/v1/people', { query: { search: person.display_name } });
      const names = people.find(({ id }) => id === person.id)?.names ?? [];
      const parameters = { person_id: person.id };
      return await send('patch', '/v1/people/{person_id}', { parameters, body: { names: [...names, name] } });
    },
    onSuccess: refreshPeople,
  });
  return (
    <span className="row">
      {suggestions.map((person) => (
        <button key={person.id} type="button" disabled={assign.isPending} onClick={() => assign.mutate(person)}>
          {toVisible(person.display_name)}
          <span className="hidden-label"> has the name {toVisible(name)}</span>
        </button>
      ))}
      <button type="button" disabled={assign.isPending} onClick={() => assign.mutate(undefined)}>
        New person<span className="hidden-label"> {toVisible(name)}</span>
      </button>
      {assign.error !== null && <Failure error={assign.error} />}
    </span>
  );
}
