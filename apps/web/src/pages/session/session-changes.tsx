import type { SessionChanges, SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCount } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count } from '../../ui/figures.tsx';

const SHOWN_PULL_REQUESTS = 20;

/** The changes of its edits; undefined until known, and if it edited nothing. */
export function useSessionChanges(
  session: SessionDetail,
  transcriptId: string | undefined,
): SessionChanges | undefined {
  const query = transcriptId === undefined ? {} : { transcript_id: transcriptId };
  const { data } = useAnswer('/v1/sessions/{session_id}/changes', query, {
    parameters: { session_id: session.session_id },
  });
  return data !== undefined && data.edits > 0 ? data : undefined;
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

/** The changed files, each linking to the sessions that used it. */
export function ChangedFiles({ changes }: { changes: SessionChanges }): ReactNode {
  const { files, by_file: byFile, whole_file_edits: whole, unknown_edits: unknown, edits } = changes;
  const named = byFile.filter(({ file_path }) => file_path !== null);
  return (
    <details>
      <summary>
        {formatCount(files)} {files === 1 ? 'changed file' : 'changed files'}
      </summary>
      <ul className="versions">
        {named.map((file) => (
          <li key={file.file_path}>
            <Link to="/sessions" search={{ file: file.file_path, subagents: 'include' } as never}>
              {toVisible(file.file_path ?? '')}
            </Link>{' '}
            · about <ChangedLines of={file} />
          </li>
        ))}
        {named.length < files && <li className="muted">and {formatCount(files - named.length)} more</li>}
      </ul>
      {whole > 0 && (
        <p className="muted">
          {formatCount(whole)} of {formatCount(edits)} edits wrote a whole file: all its lines count as added.
        </p>
      )}
      {unknown > 0 && (
        <p className="muted">
          Of {formatCount(unknown)} of {formatCount(edits)} edits the lines are not known and not counted.
        </p>
      )}
    </details>
  );
}

/** The pull requests linked to it. */
export function PullRequests({ sessionId }: { sessionId: string }): ReactNode {
  const { data } = useAnswer('/v1/analytics/pull-requests', { session_id: sessionId, limit: SHOWN_PULL_REQUESTS });
  return data?.rows.map(({ url, repository, number }) => {
    const name = toVisible(repository !== null && number !== null ? `${repository}#${number}` : url);
    return /^https?:\/\//i.test(url) ? (
      <a key={url} href={url} target="_blank" rel="noopener noreferrer" title={url}>
        {name}
      </a>
    ) : (
      <span key={url}>{name}</span>
    );
  });
}
