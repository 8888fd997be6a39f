import type { SessionChanges } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCount } from '../../format/values.ts';
import { ChangedLines } from './session-changes.tsx';

/** The changed files, each linking to the sessions that used it. */
export function ChangedFiles({ changes }: { changes: SessionChanges }): ReactNode {
  const { files, by_file: byFile, whole_file_edits: whole, unknown_edits: unknown, edits, is_cut: isCut } = changes;
  const named = byFile.filter(({ file_path }) => file_path !== null);
  return (
    <details>
      <summary>
        {isCut && 'At least '}
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
        {named.length < files && (
          <li className="muted">
            and {isCut && 'at least '}
            {formatCount(files - named.length)} more
          </li>
        )}
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
