import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import { parseAnsi } from './ansi.ts';

/** A program's output, with its colours. */
export const Terminal = ({ text }: { text: string }): ReactNode => (
  <pre className="terminal" tabIndex={0}>
    {parseAnsi(text).map(({ text: piece, classes }, index) => (
      <span key={index} className={classes || undefined}>
        {toVisible(piece)}
      </span>
    ))}
  </pre>
);
