import type { WorkspacePrices } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { TIME_ZONE } from '../../format/values.ts';
import { request, toUrl } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { Count, Money } from '../../ui/figures.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { PriceChanges } from './price-changes.tsx';

/** The workspace's own prices, and the models without one. */
export function Prices(): ReactNode {
  const prices = useAnswer('/v1/prices', {});
  return (
    <section aria-labelledby="prices">
      <h2 id="prices">Prices</h2>
      <Answered of={prices}>
        {(current) => (
          <>
            <p className="muted">
              Price version <code>{current.price_version}</code>, currency {current.currency_label} (nothing is
              converted). The newest price list dates from {current.price_date}
              {current.price_file === null
                ? ''
                : current.price_file.error === null
                  ? ` (${current.price_file.location})`
                  : `. ${current.price_file.error}`}
              .
            </p>
            <Overrides current={current} />
          </>
        )}
      </Answered>
      <Effect />
    </section>
  );
}

const EXAMPLE = `[
  { "model": "my-model-*", "inputUsdPerMillion": 3, "outputUsdPerMillion": 15 }
]`;

function Overrides({ current }: { current: WorkspacePrices }): ReactNode {
  const stored = JSON.stringify(current.overrides, null, 2);
  const [text, setText] = useState<string>();
  const shown = text ?? (current.overrides.length === 0 ? '' : stored);
  const save = useMutation({
    mutationFn: (overrides: string) =>
      request(toUrl('/v1/prices'), {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: `{"overrides":${overrides}}`,
      }),
    onSuccess: () => {
      setText(undefined);
      return queryClient.invalidateQueries();
    },
  });
  return (
    <form
      className="admin-form"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(shown.trim() || '[]');
      }}
    >
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
      {current.overrides.length === 0 && shown === '' && (
        <button type="button" className="quiet" onClick={() => setText(EXAMPLE)}>
          Start from the example
        </button>
      )}
      <PriceChanges stored={current.overrides} text={shown} />
      <p className="muted">
        Prices apply to new data. Run <code>recount reprice</code> to apply them to stored transcripts.
      </p>
      <button type="submit" disabled={text === undefined || save.isPending}>
        Save overrides
      </button>
      {save.isSuccess && text === undefined && <p role="status">Saved.</p>}
      {save.error !== null && <Failure error={save.error} />}
    </form>
  );
}

/** Each model's cost at current prices. Rates are looked up once, and stored with each response. */
function Effect(): ReactNode {
  const models = useAnswer('/v1/analytics/models', { time_zone: TIME_ZONE });
  return (
    <>
      <h3>Models in use</h3>
      <Answered of={models}>
        {({ rows, caveats }) => (
          <>
            <Caveats caveats={caveats} />
            <div className="scroll-x" tabIndex={0} role="region" aria-label="Models in use">
              <table className="plain-table">
                <thead>
                  <tr>
                    <th scope="col">Model</th>
                    <th scope="col" className="end">
                      Responses
                    </th>
                    <th scope="col" className="end">
                      Without a price
                    </th>
                    <th scope="col" className="end">
                      Cost
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map(({ model, responses, unpriced, cost_usd }) => (
                    <tr key={model}>
                      <td>
                        {model === null ? (
                          <span className="muted">unknown</span>
                        ) : (
                          <Link to="/sessions" search={{ model, subagents: 'include' } as never}>
                            {toVisible(model)}
                          </Link>
                        )}
                      </td>
                      <td className="end">
                        <Count value={responses} />
                      </td>
                      <td className="end">
                        {unpriced.responses > 0 ? (
                          <span className="tag warn">
                            <Count value={unpriced.responses} />
                          </span>
                        ) : (
                          0
                        )}
                      </td>
                      <td className="end">
                        <Money value={cost_usd} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )}
      </Answered>
    </>
  );
}
