import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Answer, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Money } from '../../ui/figures.tsx';
import { Form } from '../../ui/form.tsx';
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
                rows={plans}
                toKey={(plan) => JSON.stringify(plan)}
                columns={[
                  { head: 'Plan', cell: ({ name }) => toVisible(name) },
                  { head: 'Person', cell: ({ person }) => (person === null ? 'everyone' : toVisible(person)) },
                  { head: 'Agent', cell: ({ agent }) => agent ?? 'all' },
                  { head: 'Price a month', isFigure: true, cell: ({ monthly_usd }) => <Money value={monthly_usd} /> },
                  { head: 'Seats', isFigure: true, cell: ({ seats }) => seats },
                  {
                    head: '',
                    cell: (plan) => (
                      <button
                        type="button"
                        className="danger"
                        disabled={save.isPending}
                        onClick={() => save.mutate(plans.toSpliced(plans.indexOf(plan), 1))}
                      >
                        Delete<span className="hidden-label"> {toVisible(plan.name)}</span>
                      </button>
                    ),
                  },
                ]}
              />
            )}
          </>
        )}
      </Answered>
    </section>
  );
}

function NewPlan({ isPending, add }: { isPending: boolean; add: (plan: Plan) => Promise<unknown> }): ReactNode {
  const submit = (form: HTMLFormElement): void => {
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
      <Form className="admin-form" submit={submit}>
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
      </Form>
    </details>
  );
}
