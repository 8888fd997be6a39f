import type { WorkspacePrices } from '@recount/contract';
import { estimatePriceEffect } from '@recount/contract/price-effect';
import { type ReactNode, useDeferredValue, useMemo } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Money } from '../../ui/figures.tsx';
import { Answered } from '../../ui/states.tsx';

type Override = WorkspacePrices['overrides'][number];

const MAX_MODELS = 10_000;

/** Previews how the overrides would change stored costs, before they are saved. */
export function PriceChanges({ stored, text }: { stored: readonly Override[]; text: string }): ReactNode {
  const written = useDeferredValue(text);
  const change = useMemo(() => toChange(stored, written), [stored, written]);
  if (typeof change === 'string')
    return (
      <p role="status" className="muted">
        {change}
      </p>
    );
  const { changed, removed } = change;
  if (changed.length + removed.length === 0) return null;
  return (
    <div role="status" className="price-changes">
      <h3>What this changes</h3>
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
            {startsAt !== undefined && ` from ${startsAt} on`}: <Count value={effect.responses} /> responses,{' '}
            <Money value={effect.costUsd} /> now, about <Money value={effect.estimatedUsd} /> at this price
          </p>
        ));
      }}
    </Answered>
  );
}

const toKey = ({ model, startsAt }: Override): string => `${model} ${startsAt ?? ''}`;

/** The text is typed by a person, so it may be anything, or unfinished. */
function toChange(
  stored: readonly Override[],
  text: string,
): string | { changed: Override[]; removed: readonly Override[] } {
  let written: unknown;
  try {
    written = JSON.parse(text.trim() || '[]');
  } catch {
    return 'This is not valid JSON yet.';
  }
  if (!Array.isArray(written) || !written.every(isOverride))
    return 'Each override has a model, inputUsdPerMillion and outputUsdPerMillion.';
  const before = new Map(stored.map((each) => [toKey(each), JSON.stringify(each)]));
  const kept = new Set(written.map(toKey));
  return {
    changed: written.filter((each) => before.get(toKey(each)) !== JSON.stringify(each)),
    removed: stored.filter((each) => !kept.has(toKey(each))),
  };
}

function isOverride(value: unknown): value is Override {
  if (typeof value !== 'object' || value === null) return false;
  const { model, inputUsdPerMillion, outputUsdPerMillion } = value as Record<string, unknown>;
  return typeof model === 'string' && typeof inputUsdPerMillion === 'number' && typeof outputUsdPerMillion === 'number';
}
