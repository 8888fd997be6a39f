import type { ReportCaveats } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { describeCaveats } from '@recount/contract/reports/caveats';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { formatCompact, formatCount, formatMoney } from '../format/values.ts';

const SHOWN_NAMES = 5;

/**
 * Known inaccuracies of a report, in sentences that say what they mean for its figures. `time` is the report's, as URL
 * parameters. Models without a price link to their sessions in it, and to the form for their price.
 */
export function Caveats({
  caveats,
  time = {},
}: {
  caveats: ReportCaveats;
  time?: Readonly<Record<string, string>>;
}): ReactNode {
  const formats = { count: formatCount, tokens: formatCompact, money: formatMoney };
  const described = describeCaveats(caveats, formats, Date.now());
  if (described.length === 0) return null;
  return (
    <div className="caveats" role="note">
      {described.map(({ label, text, names }) => (
        <p key={label}>
          {text}
          {names.slice(0, SHOWN_NAMES).map(({ name, model }, index) => (
            <Fragment key={name}>
              {index > 0 ? ', ' : ' '}
              {model === undefined ? (
                toVisible(name)
              ) : (
                <>
                  <Link to="/sessions" search={{ ...time, model, subagents: 'include' } as never}>
                    {toVisible(name)}
                  </Link>{' '}
                  (
                  <Link to="/admin" search={{ view: 'prices', price: model } as never}>
                    set price
                  </Link>
                  )
                </>
              )}
            </Fragment>
          ))}
          {names.length > SHOWN_NAMES && ` and ${names.length - SHOWN_NAMES} more`}
          {names.length > 0 && '.'}
        </p>
      ))}
    </div>
  );
}
