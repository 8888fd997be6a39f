import type { Session } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { toCsv } from '../../format/to-csv.ts';
import { formatCount, formatCounted } from '../../format/values.ts';
import { send } from '../../server-data/client.ts';
import { queryClient } from '../../server-data/use-answer.ts';
import { download } from '../../ui/download.ts';
import { Money, Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/states.tsx';

interface SelectionProps {
  selected: readonly Session[];
  loaded: readonly Session[];
  choose: (sessionIds: readonly string[]) => void;
}

const toIds = (sessions: readonly Session[]): string[] => sessions.map(({ session_id }) => session_id);

/** Actions for the selected sessions. */
export function SelectionBar({ selected, loaded, choose }: SelectionProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  return (
    <div className="selection row" role="group" aria-label="Selected sessions">
      <strong>{formatCounted(selected.length, 'session')} selected</strong>
      <button type="button" onClick={() => choose(toIds(loaded))}>
        Select all {formatCount(loaded.length)} shown
      </button>
      <button type="button" onClick={() => download('sessions.csv', 'text/csv', toCsv(selected))}>
        Export as CSV
      </button>
      <button
        type="button"
        onClick={() => download('sessions.json', 'application/json', JSON.stringify(selected, null, 2))}
      >
        Export as JSON
      </button>
      <button type="button" className="danger" onClick={() => setAsking(true)}>
        Delete …
      </button>
      <button type="button" className="quiet" onClick={() => choose([])}>
        Clear
      </button>
      {isAsking && <Deletion sessions={selected} choose={choose} close={() => setAsking(false)} />}
    </div>
  );
}

const NAMED_SESSIONS = 12;

interface DeletionProps {
  sessions: readonly Session[];
  choose: (sessionIds: readonly string[]) => void;
  close: () => void;
}

/** Asks for confirmation and says what will be deleted. Deletes one after another. Those that fail stay selected. */
function Deletion({ sessions, choose, close }: DeletionProps): ReactNode {
  const [doneCount, setDoneCount] = useState(0);
  const remove = useMutation({
    mutationFn: async () => {
      for (const [index, { session_id }] of sessions.entries()) {
        await send('delete', '/v1/sessions/{session_id}', { parameters: { session_id } });
        setDoneCount(index + 1);
      }
    },
    onSuccess: () => {
      choose([]);
      close();
    },
    onSettled: () => queryClient.invalidateQueries(),
  });
  return (
    <Modal title={`Delete ${formatCounted(sessions.length, 'session')}?`} close={close}>
      <p>
        Their raw bytes, messages and figures are gone for good. Sub-agents are sessions of their own, and stay unless
        they are selected too. Responses that other sessions have copies of are credited to those.
      </p>
      <ul className="deletions">
        {sessions.slice(0, NAMED_SESSIONS).map((session) => (
          <li key={session.session_id} className="between">
            <span className="clip">{toVisible(session.title)}</span>
            <span className="muted">
              <Time iso={session.last_timestamp} /> · {formatCounted(session.total_messages, 'message')} ·{' '}
              <Money value={session.cost_estimate_usd} />
            </span>
          </li>
        ))}
        {sessions.length > NAMED_SESSIONS && <li>and {formatCount(sessions.length - NAMED_SESSIONS)} more</li>}
      </ul>
      <div className="row">
        <button type="button" className="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          {remove.isPending ? `Deleting ${doneCount + 1} of ${sessions.length} …` : 'Delete permanently'}
        </button>
        <button type="button" onClick={close}>
          Keep them
        </button>
      </div>
      {remove.error !== null && <Failure error={remove.error} />}
    </Modal>
  );
}
