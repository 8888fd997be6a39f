import type { Budget, BudgetHistory } from '@recount/contract';
import { BUDGET_PERIODS, BUDGET_UNITS, DEFAULT_ANOMALY_FACTOR, DEFAULT_THRESHOLDS } from '@recount/contract/choices';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { TIME_ZONE } from '../../format/values.ts';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { useIsAdmin } from '../../server-data/use-shows.ts';
import { BudgetAmount, BudgetUse, toCounted } from '../../ui/budget-use.tsx';
import { Time } from '../../ui/figures.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Modal } from '../../ui/modal.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { CreateForm, DeleteDialog, Options } from './admin-forms.tsx';
import { CountedFields, readCounted } from './counted-fields.tsx';
import { DestinationFields, DestinationNames, readDestinations } from './destination-fields.tsx';
import { WideTable } from './wide-table.tsx';

type Request = Body<'/v1/budgets', 'post'>;
type Asked = { what: 'change' | 'history' | 'delete'; budget: Budget };

const UNITS = { usd: 'US dollars at list prices', tokens: 'tokens' } as const;

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['/v1/budgets'] });

/** Budgets of the workspace: what is spent of them, and what they have warned of. */
export function Budgets(): ReactNode {
  const budgets = useAnswer('/v1/budgets', {});
  const isAdmin = useIsAdmin();
  const [asked, setAsked] = useState<Asked>();
  const close = (): void => setAsked(undefined);
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      {isAdmin && <NewBudget />}
      <Answered of={budgets}>
        {({ budgets: all }) =>
          all.length === 0 ? (
            <Empty title="No budgets">
              <p>
                A budget compares what is spent in a day, week or month with an amount, and warns before it is reached.
              </p>
            </Empty>
          ) : (
            <ul className="budget-list">
              {all.map((budget) => (
                <li key={budget.id} className="panel">
                  <strong>{budget.name}</strong>
                  <span className="muted">
                    By {budget.period} in {budget.time_zone}: {toCounted(budget)}
                  </span>
                  <BudgetUse budget={budget} />
                  <span className="muted">
                    {toRules(budget)}
                    {isAdmin && (
                      <>
                        {' '}
                        Sends to <DestinationNames ids={budget.destination_ids} />.
                      </>
                    )}
                  </span>
                  <BudgetActions budget={budget} isAdmin={isAdmin} ask={setAsked} />
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      {asked?.what === 'history' && <History budget={asked.budget} close={close} />}
      {asked?.what === 'change' && <Change budget={asked.budget} close={close} />}
      {asked?.what === 'delete' && (
        <DeleteDialog name={asked.budget.name} remove={() => remove(asked.budget)} close={close}>
          Its history is deleted with it.
        </DeleteDialog>
      )}
    </section>
  );
}

function toRules({ thresholds, forecast_percent: forecast, anomaly_factor: factor }: Budget): string {
  const parts = [
    ...(thresholds.length > 0 ? [`${thresholds.join(', ')} %`] : []),
    ...(forecast === null ? [] : [`a forecast of ${forecast} %`]),
    ...(factor === null ? [] : [`a day above ${factor} times the median`]),
  ];
  return parts.length === 0 ? 'Warns of nothing.' : `Warns of ${parts.join('; ')}.`;
}

function BudgetActions({
  budget,
  isAdmin,
  ask,
}: {
  budget: Budget;
  isAdmin: boolean;
  ask: (asked: Asked) => void;
}): ReactNode {
  const name = <span className="hidden-label"> {budget.name}</span>;
  return (
    <div className="row">
      <button type="button" onClick={() => ask({ what: 'history', budget })}>
        History{name}
      </button>
      {isAdmin && (
        <>
          <button type="button" onClick={() => ask({ what: 'change', budget })}>
            Edit{name}
          </button>
          <button type="button" className="danger" onClick={() => ask({ what: 'delete', budget })}>
            Delete{name}
          </button>
        </>
      )}
    </div>
  );
}

/** The fields that both forms have. */
function toChange(
  data: FormData,
): Pick<Request, 'name' | 'amount' | 'anomaly_factor' | 'destination_ids'> & { thresholds: number[] } {
  const factor = String(data.get('anomaly'));
  return {
    name: String(data.get('name')).trim(),
    amount: Number(data.get('amount')),
    thresholds: String(data.get('thresholds'))
      .split(/[\s,;%]+/)
      .filter((text) => text !== '')
      .map(Number),
    anomaly_factor: factor === '' ? null : Number(factor),
    destination_ids: readDestinations(data),
  };
}

function NewBudget(): ReactNode {
  const make = useMutation({
    mutationFn: (body: Request) => send('post', '/v1/budgets', { body }),
    onSuccess: refresh,
  });
  return (
    <CreateForm label="Create budget" of={make} toRequest={toRequest}>
      <label>
        Name
        <input name="name" required maxLength={100} placeholder="everything, team heron, Opus" />
      </label>
      <label>
        Amount
        <input name="amount" type="number" required min={0.01} step="any" placeholder="600" />
      </label>
      <label>
        Unit
        <select name="unit">
          <Options of={BUDGET_UNITS.map((unit) => [unit, UNITS[unit]])} />
        </select>
      </label>
      <label>
        Period
        <select name="period" defaultValue="month">
          <Options of={BUDGET_PERIODS.map((period) => [period, period])} />
        </select>
      </label>
      <label>
        Time zone
        <input name="zone" required defaultValue={TIME_ZONE} />
      </label>
      <WarningFields />
      <DestinationFields />
      <CountedFields />
    </CreateForm>
  );
}

function toRequest(form: HTMLFormElement): Request {
  const data = new FormData(form);
  const request = {
    ...{ ...toChange(data), filters: readCounted(data) },
    period: data.get('period') as NonNullable<Request['period']>,
    unit: data.get('unit') as NonNullable<Request['unit']>,
    time_zone: String(data.get('zone')).trim(),
  };
  return request as Request;
}

function WarningFields({ budget }: { budget?: Budget }): ReactNode {
  const thresholds: readonly number[] = budget?.thresholds ?? DEFAULT_THRESHOLDS;
  const factor = budget === undefined ? DEFAULT_ANOMALY_FACTOR : budget.anomaly_factor;
  return (
    <>
      <label>
        Warn at these percentages
        <input name="thresholds" defaultValue={thresholds.join(', ')} pattern="[\d\s,;%]*" />
      </label>
      <label>
        Warn of a day above so many times the median of the days before (empty: never)
        <input name="anomaly" type="number" min={1} max={1000} step="any" defaultValue={factor ?? ''} />
      </label>
    </>
  );
}

function Change({ budget, close }: { budget: Budget; close: () => void }): ReactNode {
  const save = useMutation({
    mutationFn: (body: Body<'/v1/budgets/{budget_id}', 'patch'>) =>
      send('patch', '/v1/budgets/{budget_id}', { parameters: { budget_id: budget.id }, body }),
    onSuccess: async () => {
      await refresh();
      close();
    },
  });
  return (
    <FormDialog
      title={`Edit ${budget.name}`}
      className="admin-form"
      of={save}
      submit={(form) => save.mutate(toChange(new FormData(form)))}
      close={close}
    >
      <label>
        Name
        <input name="name" required maxLength={100} defaultValue={budget.name} />
      </label>
      <label>
        Amount
        <input name="amount" type="number" required min={0.01} step="any" defaultValue={budget.amount} />
      </label>
      <WarningFields budget={budget} />
      <DestinationFields ids={budget.destination_ids} />
      <p className="muted">
        What it counts stays: {toCounted(budget)}, by {budget.period}. It does not warn again of what it has warned of
        in this {budget.period}.
      </p>
    </FormDialog>
  );
}

async function remove({ id }: Budget): Promise<void> {
  await send('delete', '/v1/budgets/{budget_id}', { parameters: { budget_id: id } });
  await refresh();
}

const HISTORY_LIMIT = 100;

function History({ budget, close }: { budget: Budget; close: () => void }): ReactNode {
  const history = useAnswer(
    '/v1/budgets/{budget_id}/history',
    { limit: HISTORY_LIMIT },
    { parameters: { budget_id: budget.id } },
  );
  return (
    <Modal title={`Warnings of ${budget.name}`} close={close}>
      <Answered of={history}>
        {({ crossings }) =>
          crossings.length === 0 ? (
            <p>It has warned of nothing yet.</p>
          ) : (
            <WideTable
              label="Warnings"
              columns={WARNING_COLUMNS}
              rows={crossings}
              toKey={(each) => `${each.period_start} ${each.kind} ${each.threshold}`}
            />
          )
        }
      </Answered>
    </Modal>
  );
}

const WARNINGS = {
  threshold: (percent: number) => `${percent} % spent`,
  forecast: (percent: number) => `forecast over ${percent} %`,
  anomaly: () => 'unusual day',
} as const;

const WARNING_COLUMNS: readonly PlainColumn<BudgetHistory['crossings'][number]>[] = [
  { head: 'Time', cell: ({ crossed_at }) => <Time iso={crossed_at} /> },
  { head: 'Period', cell: ({ period_start }) => period_start },
  {
    head: 'Warning',
    cell: ({ kind, threshold, is_late }) => (
      <>
        {WARNINGS[kind](threshold)} {is_late && <span className="tag">late</span>}
      </>
    ),
  },
  { head: 'Figure', cell: ({ unit, figure }) => <BudgetAmount unit={unit} value={figure} /> },
  {
    head: 'Of',
    cell: ({ kind, unit, median, amount }) => (
      <>
        <BudgetAmount unit={unit} value={kind === 'anomaly' ? (median ?? 0) : amount} />
        {kind === 'anomaly' && ' median'}
      </>
    ),
  },
];
