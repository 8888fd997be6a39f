import type { ReportCaveats } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { describeOldPrices, toUnpricedName } from '@recount/contract/price-words';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { formatCompact, formatCount, formatMoney } from '../format/values.ts';

const SHOWN_MODELS = 5;

/**
 * Known inaccuracies of a report, in sentences that say what they mean for its figures. `time` is the report's, as URL
 * parameters. Models without a price link to their sessions in it.
 */
export function Caveats({
  caveats,
  time = {},
}: {
  caveats: ReportCaveats;
  time?: Readonly<Record<string, string>>;
}): ReactNode {
  const {
    unpriced,
    unfinalised,
    without_timestamp: untimed,
    sessions,
    disagreements,
    default_priced_responses: unnamed,
  } = caveats;
  const terms = unpriced.terms ?? [];
  const lines = [
    describeOldPrices(caveats.price_date, Date.now()),
    unfinalised.responses > 0 &&
      `${formatCount(unfinalised.responses)} responses have incomplete output counts. They count with ${formatCompact(unfinalised.tokens_out)} output tokens; actual output is about ${formatCompact(unfinalised.estimated_tokens_out)} (estimate, not included).`,
    unnamed > 0 && `${formatCount(unnamed)} responses name no model and are priced at the default rates.`,
    untimed > 0 && `${formatCount(untimed)} responses have no timestamp and appear only under All time.`,
    sessions.without_usage > 0 &&
      `${formatCount(sessions.without_usage)} sessions have no usage in their transcripts, so sums exclude their tokens and cost.`,
    sessions.output_only > 0 &&
      `${formatCount(sessions.output_only)} sessions have an interrupted run that reported only output, so the sums lack its input.`,
    disagreements.responses > 0 &&
      `${formatCount(disagreements.responses)} responses have copies that disagree. Their cost is between ${formatMoney(disagreements.lowest_cost_usd)} and ${formatMoney(disagreements.highest_cost_usd)}, and counts as ${formatMoney(disagreements.cost_usd)}.`,
  ].filter((line) => line !== false && line !== undefined);
  if (lines.length === 0 && unpriced.responses === 0) return null;
  return (
    <div className="caveats" role="note">
      {unpriced.responses > 0 && (
        <p>
          {formatCount(unpriced.responses)} responses ({formatCompact(unpriced.tokens)} tokens) have no price and are
          not included in any cost:{' '}
          {unpriced.models.length + terms.length === 0
            ? 'they name no model'
            : unpriced.models.slice(0, SHOWN_MODELS).map((model, index) => (
                <Fragment key={model}>
                  {index > 0 && ', '}
                  <Link to="/sessions" search={{ ...time, model, subagents: 'include' } as never}>
                    {toVisible(model)}
                  </Link>
                </Fragment>
              ))}
          {terms.length > 0 &&
            `${unpriced.models.length > 0 ? '; ' : ''}${terms.slice(0, SHOWN_MODELS).map(toUnpricedName).map(toVisible).join(', ')}`}
          .
        </p>
      )}
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  );
}
