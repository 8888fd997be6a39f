import { type ReactNode, useState } from 'react';

/** A text that cannot be shown again; the user must copy it before closing. */
export function ShownOnce({ text, close }: { text: string; close: () => void }): ReactNode {
  const [isCopied, setIsCopied] = useState(false);
  return (
    <>
      <pre className="shown-once">{text}</pre>
      <div className="row">
        <button
          type="button"
          className="primary"
          onClick={() => void navigator.clipboard.writeText(text).then(() => setIsCopied(true))}
        >
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <button type="button" onClick={close}>
          I have it
        </button>
      </div>
    </>
  );
}
