import './admin.css';
import { lazy, type ReactNode, Suspense } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/use-url-state.ts';
import { Browsers } from './browsers.tsx';
import { Checks } from './checks.tsx';
import { Ingestion } from './ingestion.tsx';
import { Keys } from './keys.tsx';
import { People } from './people.tsx';
import { Prices } from './prices.tsx';
import { Settings } from './settings.tsx';
import { SharedLinks } from './shared-links.tsx';
import { Workspaces } from './workspaces.tsx';

const Alerts = lazy(async () => ({ default: (await import('./alerts.tsx')).Alerts }));
const Budgets = lazy(async () => ({ default: (await import('./budgets.tsx')).Budgets }));
const Digests = lazy(async () => ({ default: (await import('./digests.tsx')).Digests }));
const Repositories = lazy(async () => ({ default: (await import('./repositories.tsx')).Repositories }));
const AuditLog = lazy(async () => ({ default: (await import('./audit-log.tsx')).AuditLog }));
const Plans = lazy(async () => ({ default: (await import('./plans.tsx')).Plans }));

const VIEWS = [
  ['keys', 'Keys', Keys],
  ['browsers', 'Browsers', Browsers],
  ['people', 'People', People],
  ['links', 'Shared links', SharedLinks],
  ['workspaces', 'Workspaces', Workspaces],
  ['repositories', 'Repositories', Repositories],
  ['prices', 'Prices', Prices],
  ['budgets', 'Budgets', Budgets],
  ['plans', 'Plans', Plans],
  ['alerts', 'Alerts', Alerts],
  ['digests', 'Digests', Digests],
  ['settings', 'Privacy', Settings],
  ['checks', 'Checks', Checks],
  ['jobs', 'Ingestion', Ingestion],
  ['audit', 'Audit log', AuditLog],
] as const;

/** Refused to a key without the scope admin. */
const OF_ADMINS = ['keys', 'browsers', 'people', 'plans', 'alerts', 'digests', 'checks', 'audit'];

/** Administration of a workspace. Most of it needs a key with the scope admin. */
export function AdminPage(): ReactNode {
  const [state, change] = useUrlState();
  const whoami = useAnswer('/v1/whoami', {});
  const isAdmin = whoami.data?.scopes.includes('admin') ?? true;
  const views = VIEWS.filter(([id]) => isAdmin || !OF_ADMINS.includes(id));
  const [shown, , View] = views.find(([id]) => id === state.view) ?? views[0] ?? VIEWS[0];
  return (
    <div className="admin-page">
      <h1>Admin</h1>
      <div className="segments" role="group" aria-label="What to show">
        {views.map(([id, label]) => (
          <button key={id} type="button" aria-pressed={id === shown} onClick={() => change({ view: id })}>
            {label}
          </button>
        ))}
      </div>
      {!isAdmin && (
        <p className="caveats" role="note">
          You are signed in with a key without the scope admin: it changes nothing here, and does not show keys,
          browsers, people, plans, alerts, digests, checks and the audit log.
        </p>
      )}
      <Suspense fallback={<Loading />}>
        <View />
      </Suspense>
    </div>
  );
}
