import { toVisible } from '@recount/contract/conversation';
import { diffLines } from 'diff';
import { memo, type ReactNode, useMemo } from 'react';
import { useExpanded } from './expansion.ts';

interface DiffLine {
  sign: '+' | '-' | ' ';
  text: string;
}

const CONTEXT_LINES = 3;
const SHOWN_LINES = 24;
/** Larger edits are shown as all of the old text, then all of the new. */
const MAX_COMPARED_LENGTH = 200_000;

function toDiffLines(before: string, after: string): DiffLine[] {
  const toLines = (sign: DiffLine['sign'], text: string): DiffLine[] =>
    text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => ({ sign, text: line }));
  if (before === '') return after === '' ? [] : toLines('+', after);
  if (before.length + after.length > MAX_COMPARED_LENGTH) return [...toLines('-', before), ...toLines('+', after)];
  return diffLines(before, after).flatMap(({ added, removed, value }) =>
    toLines(added ? '+' : removed ? '-' : ' ', value),
  );
}

/** Removed and added lines, with some context. */
const Diff = memo(function Diff({ lines }: { lines: readonly DiffLine[] }): ReactNode {
  const isNear = (index: number): boolean => {
    for (let other = index - CONTEXT_LINES; other <= index + CONTEXT_LINES; other++) {
      const sign = lines[other]?.sign;
      if (sign !== undefined && sign !== ' ') return true;
    }
    return false;
  };
  let isGap = false;
  return (
    <pre className="diff" tabIndex={0}>
      {lines.map(({ sign, text }, index) => {
        if (!isNear(index)) {
          const isFirst = !isGap;
          isGap = true;
          return isFirst ? (
            <span key={index} className="diff-gap">
              {'⋯\n'}
            </span>
          ) : null;
        }
        isGap = false;
        return (
          <span key={index} className={sign === '+' ? 'diff-added' : sign === '-' ? 'diff-removed' : undefined}>
            {`${sign} ${toVisible(text)}\n`}
          </span>
        );
      })}
    </pre>
  );
});

/** The removed and added text of an edit, with its first lines, and a button for the rest. */
export function EditedText({ name, before, after }: { name: string; before: string; after: string }): ReactNode {
  const lines = useMemo(() => toDiffLines(before, after), [before, after]);
  const [isOpen, setOpen] = useExpanded(`${name} rest`);
  const shown = useMemo(() => (isOpen ? lines : lines.slice(0, SHOWN_LINES)), [lines, isOpen]);
  return (
    <>
      <Diff lines={shown} />
      {shown.length < lines.length && (
        <button type="button" className="quiet more" data-fold={`${name} rest`} onClick={() => setOpen(true)}>
          Show {(lines.length - shown.length).toLocaleString()} more lines
        </button>
      )}
    </>
  );
}
