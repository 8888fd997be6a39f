import { memo, type ReactNode, useEffect, useState } from 'react';
import type { ThemedToken } from 'shiki/core';

/** Longer code is not highlighted. */
const MAX_COLOURED_LENGTH = 30_000;

/** Code, highlighted as soon as its language is loaded. */
export const Code = memo(function Code({ text, language }: { text: string; language?: string | undefined }): ReactNode {
  const [lines, setLines] = useState<ThemedToken[][]>();
  useEffect(() => {
    if (language === undefined || text.length > MAX_COLOURED_LENGTH) return;
    let isCurrent = true;
    void import('./highlight.ts').then(async ({ highlight, toLanguage }) => {
      const known = toLanguage(language);
      if (known === undefined) return;
      const found = await highlight(text, known).catch(() => undefined);
      if (isCurrent) setLines(found);
    });
    return () => {
      isCurrent = false;
    };
  }, [text, language]);
  return (
    <pre className="code" tabIndex={0}>
      <code>
        {lines === undefined
          ? text
          : lines.map((tokens, line) => (
              <span key={line}>
                {tokens.map(({ content, color, offset }) => (
                  <span key={offset} style={{ color }}>
                    {content}
                  </span>
                ))}
                {'\n'}
              </span>
            ))}
      </code>
    </pre>
  );
});
