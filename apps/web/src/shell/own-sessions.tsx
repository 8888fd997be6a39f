import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NO_VIEW } from '../format/dimensions.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import { Count, Money } from '../ui/figures.tsx';
import { Answered, Empty } from '../ui/states.tsx';

/** In the place of a page of everyone's figures, for a key that shows the sessions of its person only. */
export function OwnSessions({ title }: { title: string }): ReactNode {
  const list = useAnswer('/v1/sessions', { totals: 'true', limit: 1 });
  return (
    <>
      <h1>{title}</h1>
      <Answered of={list}>
        {({ totals }) => (
          <Empty title="Your key shows your own sessions">
            <p>
              <Link to="/sessions" search={{ ...NO_VIEW, period: 'all', subagents: 'include' } as never}>
                <Count value={totals?.sessions ?? 0} /> {totals?.sessions === 1 ? 'session' : 'sessions'}
              </Link>
              , <Money value={totals?.cost_estimate_usd ?? null} />
            </p>
            <p>Figures of everyone need a key with the scope figures.</p>
          </Empty>
        )}
      </Answered>
    </>
  );
}
