import './trust-line.css';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { formatCompact, formatMoney, MIN_SHOWN_PART } from '../format/values.ts';
import type { TrustProps } from './trust-drawer.tsx';

const TrustDrawer = lazy(async () => ({ default: (await import('./trust-drawer.tsx')).TrustDrawer }));

/** The exactness of a total in a line; a click shows all that is known. */
export function TrustLine(props: TrustProps): ReactNode {
  const { caveats, cost } = props;
  const [isOpen, setOpen] = useState(false);
  const missing = caveats.unfinalised.estimated_cost_usd ?? 0;
  const { tokens, responses, models } = caveats.unpriced;
  return (
    <p className="trust-line muted">
      <span>Cost is an estimate at list prices</span>
      {missing > 0 && missing >= (cost ?? 0) * MIN_SHOWN_PART && (
        <span>about +{formatMoney(missing)} for incomplete output, not included</span>
      )}
      {responses > 0 && (
        <span>
          {formatCompact(tokens)} tokens unpriced,{' '}
          <Link to="/admin" search={{ view: 'prices', price: models[0] } as never}>
            set a price
          </Link>
        </span>
      )}
      <button type="button" className="link" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        How exact is this?
      </button>
      <Suspense>{isOpen && <TrustDrawer {...props} close={() => setOpen(false)} />}</Suspense>
    </p>
  );
}
