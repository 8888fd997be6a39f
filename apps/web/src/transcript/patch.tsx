import { type PatchedFile, toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import { EditedText } from './edited-text.tsx';

const CHANGES: Readonly<Record<PatchedFile['change'], string>> = { add: 'new', update: 'changed', delete: 'deleted' };

/** A patch, shown file by file like edits. */
export const Patch = ({ name, files }: { name: string; files: readonly PatchedFile[] }): ReactNode =>
  files.map(({ path, change, movedTo, hunks }, fileIndex) => (
    <section key={fileIndex} className="patched-file" aria-label={toVisible(path)}>
      <p>
        <span className="mono">{toVisible(path)}</span>
        {movedTo !== undefined && (
          <>
            {' '}
            → <span className="mono">{toVisible(movedTo)}</span>
          </>
        )}{' '}
        <span className="tag">{movedTo !== undefined ? 'moved' : CHANGES[change]}</span>
      </p>
      {hunks.map(({ before, after }, index) => (
        <EditedText key={index} name={`${name} ${fileIndex} ${index}`} before={before} after={after} />
      ))}
    </section>
  ));
