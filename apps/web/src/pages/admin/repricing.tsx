import type { RepriceRun } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { formatCount, formatMoney } from '../../format/values.ts';
import { send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Time } from '../../ui/figures.tsx';
import { Answered, Failure } from '../../ui/states.tsx';

const RUNNING_INTERVAL_MS = 1000;
const IDLE_INTERVAL_MS = 15_000;
/** For more, the API prices everything again. */
const MAX_MODELS = 200;

const isUnderWay = (run: RepriceRun | null | undefined): boolean => run?.state === 'queued' || run?.state === 'running';

interface RepricingProps {
  /** Have just got other prices. */
  models: readonly string[];
  started: () => void;
}

/** Applies prices to what is stored, and shows the progress of that. */
export function Repricing({ models, started }: RepricingProps): ReactNode {
  const answer = useAnswer(
    '/v1/prices/reprice',
    {},
    { refetchIntervalMs: (known) => (isUnderWay(known?.run) ? RUNNING_INTERVAL_MS : IDLE_INTERVAL_MS) },
  );
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['/v1/prices/reprice'] });
  const start = useMutation({
    mutationFn: (names: readonly string[]) =>
      send('post', '/v1/prices/reprice', { body: { models: names.length > MAX_MODELS ? [] : [...names] } }),
    onSuccess: started,
    onSettled: refresh,
  });
  const cancel = useMutation({ mutationFn: () => send('delete', '/v1/prices/reprice'), onSettled: refresh });
  useRefreshAtEnd(answer.data?.run ?? null);
  const isBusy = isUnderWay(answer.data?.run) || start.isPending;
  return (
    <section className="panel check" aria-labelledby="repricing">
      <div className="between">
        <h3 id="repricing">Stored usage</h3>
        <div className="row">
          {isUnderWay(answer.data?.run) && (
            <button type="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel
            </button>
          )}
          {models.length > 0 && (
            <button type="button" className="primary" disabled={isBusy} onClick={() => start.mutate(models)}>
              Reprice now
            </button>
          )}
          <button type="button" disabled={isBusy} onClick={() => start.mutate([])}>
            Reprice everything
          </button>
        </div>
      </div>
      <p className={models.length > 0 ? undefined : 'muted'}>
        {models.length > 0
          ? `Saved. New data has this price. “Reprice now” applies it to stored sessions that use ${models.join(', ')}.`
          : 'Prices apply to new data. “Reprice everything” applies the current ones to all stored sessions that have others. A worker does it; you may leave this page.'}
      </p>
      <div role="status">
        <Answered of={answer}>{({ run }) => run !== null && <Standing run={run} />}</Answered>
      </div>
      {start.error !== null && <Failure error={start.error} />}
      {cancel.error !== null && <Failure error={cancel.error} />}
    </section>
  );
}

/** Every figure may be another one after a run. */
function useRefreshAtEnd(run: RepriceRun | null): void {
  const wasUnderWay = useRef(false);
  const isNow = isUnderWay(run);
  useEffect(() => {
    if (wasUnderWay.current && !isNow) void queryClient.invalidateQueries();
    wasUnderWay.current = isNow;
  }, [isNow]);
}

function Standing({ run }: { run: RepriceRun }): ReactNode {
  const { state, done, total, models, actor, failure_reason: reason } = run;
  const of = models.length === 0 ? 'All models' : models.join(', ');
  if (state === 'queued' || state === 'running') {
    return (
      <>
        <progress
          aria-label="Transcripts repriced"
          {...(total !== null && { value: Math.min(done, total), max: Math.max(total, 1) })}
        />
        <p>
          {of}: {total === null ? 'waiting for a worker' : `${formatCount(done)} of ${formatCount(total)} transcripts`}{' '}
          …{' '}
          <span className="muted">
            Started by {actor}, <Time iso={run.started_at} />
          </span>
        </p>
      </>
    );
  }
  return (
    <p className={state === 'done' ? undefined : 'caveats'}>
      {state === 'done' ? (
        <Sums run={run} of={of} />
      ) : (
        `${of}: ${WORDS[state]} after ${formatCount(done)} transcripts${state === 'failed' && reason !== null ? `: ${reason}` : ''}. What is repriced stays so; start again for the rest.`
      )}{' '}
      <span className="muted">
        <Time iso={run.ended_at} />, by {actor}
      </span>
    </p>
  );
}

const WORDS = { failed: 'failed', interrupted: 'interrupted', cancelled: 'cancelled' } as const;

function Sums({ run: { done, before, after }, of }: { run: RepriceRun; of: string }): ReactNode {
  if (before === null || after === null) return `${of}: ${formatCount(done)} transcripts repriced.`;
  const added = after.responses - before.responses;
  return (
    <>
      {of}: {formatCount(done)} transcripts repriced. All costs:{' '}
      <strong>
        {formatMoney(before.cost_usd)} → {formatMoney(after.cost_usd)}
      </strong>
      . Unpriced responses: {formatCount(before.unpriced_responses)} → {formatCount(after.unpriced_responses)}.
      {added > 0 && ` ${formatCount(added)} responses were added while it ran.`}
    </>
  );
}
