import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatCount } from '../../format/values.ts';
import { type Answer, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Failure } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

type Rename = Answer<'/v1/repository-renames'>['renames'][number];

const HEADS = ['Repository', 'Shown as', 'By', 'When', 'State'];

/** Renamed and merged repositories, with who did it, and how far stored sessions have followed. */
export function RepositoryRenames({ renames, isAdmin }: { renames: readonly Rename[]; isAdmin: boolean }): ReactNode {
  const keys = useAnswer('/v1/keys', {}, { isEnabled: isAdmin });
  const toActor = (actor: string): string =>
    keys.data?.keys.find(({ id }) => actor === `key:${id}`)?.name ?? actor.replace(/^operator:/, '');
  if (renames.length === 0) return <p className="muted">None.</p>;
  return (
    <WideTable label="Renamed and merged repositories" columns={isAdmin ? [...HEADS, 'Undo'] : HEADS} rows={renames}>
      {renames.map((rename) => (
        <tr key={rename.id}>
          <td>{toVisible(rename.name)}</td>
          <td>{toVisible(rename.shown_name)}</td>
          <td title={rename.actor}>{toActor(rename.actor)}</td>
          <td>
            <Time iso={rename.changed_at} />
          </td>
          <td>
            <State of={rename} />
          </td>
          {isAdmin && <td>{rename.new_name !== null && <Undo rename={rename} />}</td>}
        </tr>
      ))}
    </WideTable>
  );
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

function Undo({ rename: { id, name } }: { rename: Rename }): ReactNode {
  const undo = useMutation({
    mutationFn: () => send('delete', '/v1/repository-renames/{rename_id}', { parameters: { rename_id: id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['/v1/repository-renames'] }),
  });
  return (
    <>
      <button type="button" disabled={undo.isPending} onClick={() => undo.mutate()}>
        Undo<span className="hidden-label"> the renaming of {name}</span>
      </button>
      {undo.error !== null && <Failure error={undo.error} />}
    </>
  );
}
