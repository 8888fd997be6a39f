import type { WorkspacePrices } from '@recount/contract';
import { estimatePriceEffect } from '@recount/contract/price-effect';
import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Money, Tokens } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';

export type Override = WorkspacePrices['overrides'][number];

const MAX_MODELS = 10_000;

interface PriceChangesProps {
  stored: readonly Override[];
  next: readonly Override[];
}

/** Previews how other overrides would change stored costs, before they are saved. */
export function PriceChanges({ stored, next }: PriceChangesProps): ReactNode {
  const { changed, removed } = listChanges(stored, next);
  if (changed.length + removed.length === 0) return null;
  return (
    <div role="status" className="price-changes">
      <h4>What this changes</h4>
      {changed.map((override) => (
        <Effect key={toKey(override)} override={override} />
      ))}
      {removed.map((override) => (
        <p key={toKey(override)}>
          <code>{override.model}</code> goes back to its list price, if it has one.
        </p>
      ))}
    </div>
  );
}

function Effect({ override }: { override: Override }): ReactNode {
  const { model, startsAt } = override;
  const models = useAnswer('/v1/analytics/models', {
    ...(startsAt !== undefined && { from: startsAt }),
    limit: MAX_MODELS,
  });
  return (
    <Answered of={models}>
      {({ rows }) => {
        const effects = estimatePriceEffect(override, rows);
        if (effects.length === 0)
          return (
            <p>
              No stored response uses <code>{model}</code>: the price applies to future ones.
            </p>
          );
        return effects.map((effect) => (
          <p key={effect.model}>
            <code>{effect.model}</code>
            {startsAt !== undefined && ` from ${startsAt.slice(0, 10)} on`}: <Count value={effect.responses} />{' '}
            responses, <Tokens value={effect.tokens} /> tokens, <Money value={effect.costUsd} /> now, about{' '}
            <Money value={effect.estimatedUsd} /> at this price
          </p>
        ));
      }}
    </Answered>
  );
}

/** Tells overrides apart. A workspace has each model and start once. */
export const toKey = ({ model, startsAt }: Pick<Override, 'model' | 'startsAt'>): string =>
  `${model.toLowerCase()} ${startsAt === undefined ? '' : Date.parse(startsAt)}`;

/** The overrides of `next` that are new or other than stored ones, and those that are gone. */
export function listChanges(
  stored: readonly Override[],
  next: readonly Override[],
): { changed: Override[]; removed: Override[] } {
  const before = new Map(stored.map((each) => [toKey(each), toText(each)]));
  const kept = new Set(next.map(toKey));
  return {
    changed: next.filter((each) => before.get(toKey(each)) !== toText(each)),
    removed: stored.filter((each) => !kept.has(toKey(each))),
  };
}

/** The same for equal overrides, in whatever order their fields are. */
const toText = (override: Override): string =>
  JSON.stringify(Object.entries({ ...override, ...override.longContext }).sort());
