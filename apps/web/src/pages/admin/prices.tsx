import type { WorkspacePrices } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { toNoName } from '../../format/plain-name.ts';
import { TIME_ZONE } from '../../format/values.ts';
import type { Answer } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Count, Money, Tokens } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
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
        <WideTable
          label="Your prices"
          rows={overrides}
          toKey={toKey}
          columns={[
            ...COLUMNS,
            { head: 'Change', cell: (each) => <Actions of={each} edit={open} remove={setDeleted} /> },
          ]}
        />
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

const COLUMNS: readonly PlainColumn<Override>[] = [
  {
    head: 'Model',
    cell: ({ model, longContext }) => (
      <>
        <code>{toVisible(model)}</code>
        {longContext !== undefined && <span className="tag">long context</span>}
      </>
    ),
  },
  { head: 'From', cell: ({ startsAt }) => (startsAt === undefined ? 'always' : startsAt.slice(0, 10)) },
  { head: 'Input', cell: ({ inputUsdPerMillion }) => toRate(inputUsdPerMillion) },
  { head: 'Output', cell: ({ outputUsdPerMillion }) => toRate(outputUsdPerMillion) },
  { head: 'Cache read', cell: ({ cacheReadUsdPerMillion }) => toRate(cacheReadUsdPerMillion) },
  {
    head: 'Cache write',
    cell: ({ cacheWrite5mUsdPerMillion: rate, cacheWrite1hUsdPerMillion: rate1h }) =>
      toRate(rate) + (rate1h === undefined ? '' : `, 1 hour: ${rate1h}`),
  },
];

interface ActionsProps {
  of: Override;
  edit: (override: Override) => void;
  remove: (override: Override) => void;
}

const Actions = ({ of, edit, remove }: ActionsProps): ReactNode => (
  <>
    <button type="button" className="quiet" onClick={() => edit(of)}>
      Edit<span className="hidden-label"> {of.model}</span>
    </button>
    <button type="button" className="quiet" onClick={() => remove(of)}>
      Delete<span className="hidden-label"> {of.model}</span>
    </button>
  </>
);

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

const USE_COLUMNS: readonly PlainColumn<Answer<'/v1/analytics/models'>['rows'][number]>[] = [
  {
    head: 'Model',
    cell: ({ model }) =>
      model === null ? (
        <span className="muted">{toNoName('model')}</span>
      ) : (
        <Link to="/sessions" search={{ model, subagents: 'include' } as never}>
          {toVisible(model)}
        </Link>
      ),
  },
  { head: 'Responses', isFigure: true, cell: ({ responses }) => <Count value={responses} /> },
  { head: 'Cost', isFigure: true, cell: ({ cost_usd }) => <Money value={cost_usd} /> },
  {
    head: 'Unpriced tokens',
    isFigure: true,
    cell: ({ unpriced: { responses, tokens } }) =>
      responses > 0 ? (
        <span className="tag warn">
          <Tokens value={tokens} />
        </span>
      ) : (
        0
      ),
  },
  {
    head: 'Price',
    isFigure: true,
    cell: ({ model }) =>
      model !== null && (
        <Link to="/admin" search={{ view: 'prices', price: model } as never}>
          Set price<span className="hidden-label"> of {toVisible(model)}</span>
        </Link>
      ),
  },
];

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
            <WideTable label="Models in use" columns={USE_COLUMNS} rows={rows} toKey={({ model }) => model ?? ''} />
          </>
        )}
      </Answered>
    </>
  );
}
