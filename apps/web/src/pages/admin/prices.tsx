import type { WorkspacePrices } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { toNoName } from '../../format/plain-name.ts';
import { TIME_ZONE } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Count, Money, Tokens } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Answered } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { type Override, PriceChanges, toKey } from './price-changes.tsx';
import { PriceForm } from './price-form.tsx';
import { PriceJson } from './price-json.tsx';
import { Repricing } from './repricing.tsx';
import { savePrices } from './save-prices.ts';
import { WideTable } from './wide-table.tsx';

/** The workspace's own prices, their use on stored usage, and the models without one. */
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
            <OwnPrices current={current} />
          </>
        )}
      </Answered>
      <ModelsInUse />
    </section>
  );
}

const HEADS = ['Model', 'From', 'Input', 'Output', 'Cache read', 'Cache write', 'Change'];

function OwnPrices({ current: { overrides } }: { current: WorkspacePrices }): ReactNode {
  const [deleted, setDeleted] = useState<Override>();
  const [changed, setChanged] = useState<string[]>([]);
  const { edited, named, isOpen, open, leave } = useEditedPrice(overrides);
  const models = useAnswer('/v1/analytics/models', { time_zone: TIME_ZONE });
  const close = (names: string[] = []): void => {
    leave();
    if (names.length > 0) setChanged([...new Set([...changed, ...names])]);
  };
  return (
    <>
      <div className="between">
        <h3>Your prices</h3>
        <button type="button" disabled={isOpen} onClick={() => open(undefined)}>
          Add price
        </button>
      </div>
      {isOpen && (
        <PriceForm
          key={edited === undefined ? named : toKey(edited)}
          stored={overrides}
          edited={edited}
          model={named}
          models={(models.data?.rows ?? []).flatMap((row) => row.model ?? [])}
          done={close}
        />
      )}
      {overrides.length === 0 ? (
        <p className="muted">None. Every model has its list price, if the list has one.</p>
      ) : (
        <WideTable label="Your prices" columns={HEADS} rows={overrides}>
          {overrides.map((override) => (
            <Row
              key={toKey(override)}
              override={override}
              edit={() => open(override)}
              remove={() => setDeleted(override)}
            />
          ))}
        </WideTable>
      )}
      <Repricing models={changed} started={() => setChanged([])} />
      <PriceJson stored={overrides} done={close} />
      {deleted !== undefined && (
        <Deletion
          stored={overrides}
          deleted={deleted}
          close={(names) => {
            setDeleted(undefined);
            close(names);
          }}
        />
      )}
    </>
  );
}

/** The price that is edited, or is to be added. A link to a model's price is followed even while another is edited. */
function useEditedPrice(overrides: readonly Override[]) {
  const [{ price: named }, change] = useUrlState();
  const [isAdding, setAdding] = useState(false);
  const [chosen, setChosen] = useState<Override>();
  const choose = (override: Override | undefined, adds: boolean): void => {
    setChosen(override);
    setAdding(adds);
    change({ price: undefined }, { replace: true });
  };
  return {
    named,
    edited: named === undefined ? chosen : overrides.find(({ model }) => model === named),
    isOpen: named !== undefined || isAdding || chosen !== undefined,
    open: (override: Override | undefined) => choose(override, override === undefined),
    leave: () => choose(undefined, false),
  };
}

interface RowProps {
  override: Override;
  edit: () => void;
  remove: () => void;
}

function Row({ override, edit, remove }: RowProps): ReactNode {
  const { model, startsAt, longContext } = override;
  return (
    <tr>
      <td>
        <code>{toVisible(model)}</code>
        {longContext !== undefined && <span className="tag">long context</span>}
      </td>
      <td>{startsAt === undefined ? 'always' : startsAt.slice(0, 10)}</td>
      <td>{toRate(override.inputUsdPerMillion)}</td>
      <td>{toRate(override.outputUsdPerMillion)}</td>
      <td>{toRate(override.cacheReadUsdPerMillion)}</td>
      <td>
        {toRate(override.cacheWrite5mUsdPerMillion)}
        {override.cacheWrite1hUsdPerMillion !== undefined && `, 1 hour: ${override.cacheWrite1hUsdPerMillion}`}
      </td>
      <td>
        <button type="button" className="quiet" onClick={edit}>
          Edit<span className="hidden-label"> {model}</span>
        </button>
        <button type="button" className="quiet" onClick={remove}>
          Delete<span className="hidden-label"> {model}</span>
        </button>
      </td>
    </tr>
  );
}

const toRate = (rate: number | undefined): string => (rate === undefined ? 'usual' : String(rate));

interface DeletionProps {
  stored: readonly Override[];
  deleted: Override;
  close: (models?: string[]) => void;
}

function Deletion({ stored, deleted, close }: DeletionProps): ReactNode {
  const next = stored.filter((each) => each !== deleted);
  const save = useMutation({
    mutationFn: () => savePrices(JSON.stringify(next)),
    onSuccess: () => close([deleted.model]),
  });
  return (
    <Modal title={`Delete the price of ${deleted.model}?`} close={() => close()}>
      <PriceChanges stored={stored} next={next} />
      <DialogButtons label="Delete price" act={() => save.mutate()} of={save} close={() => close()} />
    </Modal>
  );
}

/** Each model's cost at the prices that are stored with its responses. */
function ModelsInUse(): ReactNode {
  const models = useAnswer('/v1/analytics/models', { time_zone: TIME_ZONE });
  return (
    <>
      <h3>Models in use</h3>
      <Answered of={models}>
        {({ rows, caveats }) => (
          <>
            <Caveats caveats={caveats} />
            <WideTable
              label="Models in use"
              columns={['Model', 'Responses', 'Cost', 'Unpriced tokens', 'Price']}
              figures={['Responses', 'Cost', 'Unpriced tokens', 'Price']}
              rows={rows}
            >
              {rows.map(({ model, responses, unpriced, cost_usd }) => (
                <tr key={model}>
                  <td>
                    {model === null ? (
                      <span className="muted">{toNoName('model')}</span>
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
                    <Money value={cost_usd} />
                  </td>
                  <td className="end">
                    {unpriced.responses > 0 ? (
                      <span className="tag warn">
                        <Tokens value={unpriced.tokens} />
                      </span>
                    ) : (
                      0
                    )}
                  </td>
                  <td className="end">
                    {model !== null && (
                      <Link to="/admin" search={{ view: 'prices', price: model } as never}>
                        Set price<span className="hidden-label"> of {toVisible(model)}</span>
                      </Link>
                    )}
                  </td>
                </tr>
              ))}
            </WideTable>
          </>
        )}
      </Answered>
    </>
  );
}
