import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import { useExpanded } from './expansion.ts';

/** A line that expands what is below it. */
export function Fold({
  name,
  summary,
  isOpenAtFirst = false,
  className = '',
  children,
}: {
  name: string;
  summary: ReactNode;
  isOpenAtFirst?: boolean;
  className?: string;
  children: () => ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useExpanded(name, isOpenAtFirst);
  return (
    <div className={`fold ${className}`} data-open={isOpen}>
      <button
        type="button"
        className="fold-summary"
        aria-expanded={isOpen}
        data-fold={name}
        onClick={() => setOpen(!isOpen)}
      >
        <span className="fold-mark" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
        {summary}
      </button>
      {isOpen && <div className="fold-body">{children()}</div>}
    </div>
  );
}

/** The first lines of a long text, and a button for the rest. */
export function LongText({
  name,
  text,
  shownLines,
  render,
}: {
  name: string;
  text: string;
  shownLines: number;
  render: (text: string) => ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useExpanded(`${name} rest`);
  const end = toEndOfLines(text, shownLines);
  if (end < 0) return render(text);
  if (isOpen) {
    return (
      <>
        {render(text)}
        <button type="button" className="quiet more" onClick={() => setOpen(false)}>
          Show less
        </button>
      </>
    );
  }
  const rest = text.slice(end).split('\n').length - 1;
  return (
    <>
      {render(text.slice(0, end))}
      <button type="button" className="quiet more" data-fold={`${name} rest`} onClick={() => setOpen(true)}>
        {rest > 0 ? `Show ${rest.toLocaleString()} more ${rest === 1 ? 'line' : 'lines'}` : 'Show all'}
      </button>
    </>
  );
}

const MAX_FOLDED_LENGTH = 4000;

/** Index of the end of this many lines; -1 if there are fewer. */
function toEndOfLines(text: string, lines: number): number {
  let end = -1;
  for (let count = 0; count < lines; count++) {
    end = text.indexOf('\n', end + 1);
    if (end < 0) return text.length > MAX_FOLDED_LENGTH * 2 ? MAX_FOLDED_LENGTH : -1;
  }
  if (end >= text.trimEnd().length) return -1;
  return Math.min(end, MAX_FOLDED_LENGTH * 2);
}

export const Plain = ({ text }: { text: string }): ReactNode => (
  <pre className="plain" tabIndex={0}>
    {toVisible(text)}
  </pre>
);
