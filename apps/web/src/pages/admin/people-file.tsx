import type { PeopleImport } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type ChangeEvent, type ReactNode, useState } from 'react';
import { send, toUrl } from '../../server-data/client.ts';
import { Failure } from '../../ui/states.tsx';
import { refreshPeople } from './refresh-people.ts';
import { WideTable } from './wide-table.tsx';

const ACTIONS = { create: 'New', change: 'Changes', unchanged: 'Unchanged', error: 'Error' } as const;

/** Import of people from a CSV file, which first says what would change, and the export. */
export function PeopleFile(): ReactNode {
  const [csv, setCsv] = useState('');
  const read = useMutation({
    mutationFn: (apply: boolean) => send('post', '/v1/people/import', { body: { csv, apply } }),
    onSuccess: (answer) => (answer?.applied ? refreshPeople() : undefined),
  });
  const choose = async ({ target }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    read.reset();
    setCsv((await target.files?.[0]?.text()) ?? '');
  };
  const plan = read.data;
  const shown = plan?.rows.filter(({ action }) => action !== 'unchanged') ?? [];
  const isPossible =
    plan !== undefined && !plan.applied && shown.length > 0 && shown.every(({ error }) => error === null);
  return (
    <details className="panel new-key">
      <summary>Import or export</summary>
      <div className="admin-form">
        <p>
          <a href={toUrl('/v1/people/export')} download="people.csv">
            Export people as CSV
          </a>
        </p>
        <label>
          CSV file with the columns name, email, names (separated by semicolons), team, cost_centre, team_from, joined,
          left, notes; only name is required
          <input type="file" accept=".csv,text/csv" onChange={(event) => void choose(event)} />
        </label>
        <span className="row">
          <button type="button" disabled={csv === '' || read.isPending} onClick={() => read.mutate(false)}>
            Preview import
          </button>
          <button
            type="button"
            className="primary"
            disabled={!isPossible || read.isPending}
            onClick={() => read.mutate(true)}
          >
            Import
          </button>
        </span>
        {read.error !== null && <Failure error={read.error} />}
        {plan !== undefined && (
          <p role="status">
            {plan.applied ? 'Imported: ' : 'Would change: '}
            {shown.length} of {plan.rows.length} lines
            {plan.created_teams.length > 0 && `, new teams: ${plan.created_teams.join(', ')}`}
          </p>
        )}
        {shown.length > 0 && <Lines rows={shown} />}
      </div>
    </details>
  );
}

const Lines = ({ rows }: { rows: PeopleImport['rows'] }): ReactNode => (
  <WideTable
    label="Lines of the file"
    rows={rows}
    toKey={({ line }) => line}
    columns={[
      { head: 'Line', cell: ({ line }) => line },
      { head: 'Person', cell: ({ name }) => name },
      { head: 'Change', cell: ({ action }) => ACTIONS[action] },
      { head: 'Details', cell: ({ error, fields }) => error ?? fields.join(', ') },
    ]}
  />
);
