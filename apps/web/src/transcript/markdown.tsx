import { toVisible } from '@recount/contract/conversation';
import { lazy, memo, type ReactNode, Suspense } from 'react';

/** Longer texts are shown unformatted. They are too long to be read, and a hostile one could take long. */
const MAX_FORMATTED_LENGTH = 100_000;

const FormattedMarkdown = lazy(async () => ({ default: (await import('./formatted-markdown.tsx')).FormattedMarkdown }));

/** Markdown as elements; unformatted until the code that formats it is loaded. */
export const Markdown = memo(function Markdown({ text }: { text: string }): ReactNode {
  const visible = toVisible(text);
  const plain = <pre className="wrapped">{visible}</pre>;
  if (visible.length > MAX_FORMATTED_LENGTH) return plain;
  return (
    <Suspense fallback={plain}>
      <FormattedMarkdown text={visible} />
    </Suspense>
  );
});
