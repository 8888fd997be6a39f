import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import { formatCount } from '../../format/values.ts';
import { type Answer, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { WideTable } from './wide-table.tsx';

type Rename = Answer<'/v1/repository-renames'>['renames'][number];

/** Renamed and merged repositories, with who did it, and how far stored sessions have followed. */
export function RepositoryRenames({ renames, isAdmin }: { renames: readonly Rename[]; isAdmin: boolean }): ReactNode {
  const keys = useAnswer('/v1/keys', {}, { isEnabled: isAdmin });
  const toActor = (actor: string): string =>
    keys.data?.keys.find(({ id }) => actor === `key:${id}`)?.name ?? actor.replace(/^operator:/, '');
  if (renames.length === 0) return <p className="muted">None.</p>;
  const columns: PlainColumn<Rename>[] = [
    { head: 'Repository', cell: ({ name }) => toVisible(name) },
    { head: 'Shown as', cell: ({ shown_name }) => toVisible(shown_name) },
    { head: 'By', title: ({ actor }) => actor, cell: ({ actor }) => toActor(actor) },
    { head: 'When', cell: ({ changed_at }) => <Time iso={changed_at} /> },
    { head: 'State', cell: (rename) => <State of={rename} /> },
  ];
  if (isAdmin) columns.push({ head: 'Undo', cell: (rename) => rename.new_name !== null && <Undo rename={rename} /> });
  return <WideTable label="Renamed and merged repositories" columns={columns} rows={renames} toKey={({ id }) => id} />;
}

function State({ of }: { of: Rename }): ReactNode {
  const { new_name, applied_at, checked_sessions: checked, all_sessions: all } = of;
  if (applied_at !== null) return 'Applied';
  const label = new_name === null ? 'Being undone' : 'Being applied';
  if (checked === null || all === null) return `${label}: waits for a worker`;
  return (
    <span role="status">
      {label}: {formatCount(checked)} of {formatCount(all)} sessions
    </span>
  );
}

const Undo = ({ rename: { id, name } }: { rename: Rename }): ReactNode => (
  <ActButton
    label="Undo"
    about={`the renaming of ${name}`}
    act={() => send('delete', '/v1/repository-renames/{rename_id}', { parameters: { rename_id: id } })}
    refresh={() => queryClient.invalidateQueries({ queryKey: ['/v1/repository-renames'] })}
  />
);
