import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { type Answer, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Money } from '../../ui/figures.tsx';
import { Answered, Empty, Failure } from '../../ui/states.tsx';
import { WideTable } from './wide-table.tsx';

type Plan = Answer<'/v1/plans'>['plans'][number];

/** Subscriptions of the workspace and of people. */
export function Plans(): ReactNode {
  const list = useAnswer('/v1/plans', {});
  const save = useMutation({
    mutationFn: (plans: Plan[]) => send('put', '/v1/plans', { body: { plans } }),
    onSuccess: () => queryClient.invalidateQueries(),
  });
  return (
    <section aria-labelledby="plans">
      <h2 id="plans">Plans</h2>
      <p className="muted">
        Subscriptions with a monthly price. Overview and the pages of people show the value used against it, at list
        prices.
      </p>
      <Answered of={list}>
        {({ plans }) => (
          <>
            <NewPlan isPending={save.isPending} add={(plan) => save.mutateAsync([...plans, plan])} />
            {save.error !== null && <Failure error={save.error} />}
            {plans.length === 0 ? (
              <Empty title="No plans" />
            ) : (
              <WideTable
                label="Plans"
                columns={['Plan', 'Person', 'Agent', 'Price a month', 'Seats', '']}
                figures={['Price a month', 'Seats']}
                rows={plans}
              >
                {plans.map((plan, index) => (
                  <tr key={JSON.stringify(plan)}>
                    <td>{toVisible(plan.name)}</td>
                    <td>{plan.person === null ? 'everyone' : toVisible(plan.person)}</td>
                    <td>{plan.agent ?? 'all'}</td>
                    <td className="end">
                      <Money value={plan.monthly_usd} />
                    </td>
                    <td className="end">{plan.seats}</td>
                    <td>
                      <button
                        type="button"
                        className="danger"
                        disabled={save.isPending}
                        onClick={() => save.mutate(plans.toSpliced(index, 1))}
                      >
                        Delete<span className="hidden-label"> {toVisible(plan.name)}</span>
                      </button>
                    </td>
                  </tr>
                ))}
              </WideTable>
            )}
          </>
        )}
      </Answered>
    </section>
  );
}

function NewPlan({ isPending, add }: { isPending: boolean; add: (plan: Plan) => Promise<unknown> }): ReactNode {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const toText = (name: string): string => String(data.get(name)).trim();
    const person = toText('person') || null;
    const plan = {
      ...{
        name: toText('name'),
        person,
        agent: (toText('agent') || null) as Plan['agent'],
        monthly_usd: Number(toText('price')),
      },
      seats: person === null ? Number(toText('seats')) : 1,
    };
    // A refusal is shown with the list.
    void add(plan).then(
      () => form.reset(),
      () => undefined,
    );
  };
  return (
    <details className="panel new-key">
      <summary>Add plan</summary>
      <form className="admin-form" onSubmit={submit}>
        <label>
          Name
          <input name="name" required maxLength={100} placeholder="Max 20x, Team" />
        </label>
        <label>
          Price of a seat in a month, US dollars
          <input name="price" type="number" required min={0} step="any" placeholder="200" />
        </label>
        <label>
          Person (empty: the whole workspace)
          <input name="person" maxLength={255} />
        </label>
        <label>
          Seats, for the workspace
          <input name="seats" type="number" min={1} defaultValue={1} />
        </label>
        <label>
          Agent (empty: all)
          <input name="agent" maxLength={100} placeholder="claude-code" />
        </label>
        <button type="submit" className="primary" disabled={isPending}>
          Add plan
        </button>
      </form>
    </details>
  );
}
