import type { SessionChanges, SessionDetail } from '@recount/contract';
import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count } from '../../ui/figures.tsx';

/** The changes of its edits; undefined if it edited nothing. */
export function useSessionChanges(
  session: SessionDetail,
  transcriptId: string | undefined,
): { changes: SessionChanges | undefined; isLoading: boolean } {
  const query = transcriptId === undefined ? {} : { transcript_id: transcriptId };
  const { data, isLoading } = useAnswer('/v1/sessions/{session_id}/changes', query, {
    parameters: { session_id: session.session_id },
  });
  return { changes: data !== undefined && data.edits > 0 ? data : undefined, isLoading };
}

export const CHANGES_NOTE =
  'From the inputs of its successful edits. Not exact, because a line that is edited twice counts twice, and changes by shell commands and sub-agents are not counted';

export const ChangedLines = ({
  of: { lines_added: added, lines_removed: removed },
}: {
  of: Pick<SessionChanges, 'lines_added' | 'lines_removed'>;
}): ReactNode => (
  <span className="changed-lines">
    +<Count value={added} /> −<Count value={removed} />
  </span>
);
