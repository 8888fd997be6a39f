import { type PatchedFile, toVisible } from '@recount/contract/conversation';
import { lazy, type ReactNode, Suspense } from 'react';
import { Plain } from './fold.tsx';

const EditedText = lazy(async () => ({ default: (await import('./edited-text.tsx')).EditedText }));

const CHANGES: Readonly<Record<PatchedFile['change'], string>> = { add: 'new', update: 'changed', delete: 'deleted' };

/** The files of a patch in one line. */
export const describePatch = (files: readonly PatchedFile[]): string => files.map(({ path }) => path).join(', ');

/** What a patch does, file by file, as edits are shown. */
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
        <Suspense key={index} fallback={<Plain text={after} />}>
          <EditedText name={`${name} ${fileIndex} ${index}`} before={before} after={after} />
        </Suspense>
      ))}
    </section>
  ));
