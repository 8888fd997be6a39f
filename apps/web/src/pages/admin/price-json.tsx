import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { download } from '../../ui/download.ts';
import { Form } from '../../ui/form.tsx';
import { Failure } from '../../ui/states.tsx';
import { listChanges, type Override, PriceChanges } from './price-changes.tsx';
import { savePrices } from './save-prices.ts';

const EXAMPLE = `[
  { "model": "my-model-*", "inputUsdPerMillion": 3, "outputUsdPerMillion": 15 }
]`;

interface PriceJsonProps {
  stored: readonly Override[];
  /** Called with the names whose prices have changed. */
  done: (models: string[]) => void;
}

/** All overrides as JSON, in the form that `recount prices set` reads. */
export function PriceJson({ stored, done }: PriceJsonProps): ReactNode {
  const json = JSON.stringify(stored, null, 2);
  const [text, setText] = useState<string>();
  const shown = text ?? (stored.length === 0 ? '' : json);
  const written = useDeferredValue(shown);
  const next = useMemo(() => parseOverrides(written), [written]);
  const save = useMutation({ mutationFn: savePrices });
  const submit = (): void => {
    // Before they are stored, because then nothing differs.
    const { changed, removed } = listChanges(stored, typeof next === 'string' ? [] : next);
    save.mutate(shown.trim() || '[]', {
      onSuccess() {
        setText(undefined);
        done([...changed, ...removed].map(({ model }) => model));
      },
    });
  };
  return (
    <details className="panel new-key">
      <summary>All as JSON: import, export</summary>
      <Form className="admin-form" submit={submit}>
        <label>
          Overrides of the list prices, as JSON: all of them, in US dollars per million tokens
          <textarea
            className="mono"
            rows={12}
            spellCheck={false}
            placeholder={EXAMPLE}
            value={shown}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        <div className="row">
          <FileButton read={setText} />
          <button
            type="button"
            disabled={stored.length === 0}
            onClick={() => download('prices.json', 'application/json', `${json}\n`)}
          >
            Download
          </button>
          {stored.length === 0 && shown === '' && (
            <button type="button" className="quiet" onClick={() => setText(EXAMPLE)}>
              Start from the example
            </button>
          )}
        </div>
        <Effect stored={stored} next={next} />
        <button type="submit" disabled={text === undefined || save.isPending}>
          Save overrides
        </button>
        {save.error !== null && <Failure error={save.error} />}
      </Form>
    </details>
  );
}

/** The changes, or what is wrong with the text. */
const Effect = ({ stored, next }: { stored: readonly Override[]; next: string | readonly Override[] }): ReactNode =>
  typeof next === 'string' ? (
    <p role="status" className="muted">
      {next}
    </p>
  ) : (
    <PriceChanges stored={stored} next={next} />
  );

const FileButton = ({ read }: { read: (text: string) => void }): ReactNode => (
  <label className="file-button">
    Open file …
    <input
      type="file"
      accept=".json,application/json"
      onChange={({ target }) => {
        // The same file can be chosen again after it has changed.
        void target.files?.[0]?.text().then(read);
        target.value = '';
      }}
    />
  </label>
);

/** The text is typed by a person, so it may be anything, or unfinished. Returns what is wrong with it. */
function parseOverrides(text: string): string | readonly Override[] {
  let written: unknown;
  try {
    written = JSON.parse(text.trim() || '[]');
  } catch {
    return 'This is not valid JSON yet.';
  }
  if (!Array.isArray(written) || !written.every(isOverride))
    return 'Each override has a model, inputUsdPerMillion and outputUsdPerMillion.';
  return written;
}

function isOverride(value: unknown): value is Override {
  if (typeof value !== 'object' || value === null) return false;
  const { model, inputUsdPerMillion, outputUsdPerMillion } = value as Record<string, unknown>;
  return typeof model === 'string' && typeof inputUsdPerMillion === 'number' && typeof outputUsdPerMillion === 'number';
}
