import type { Whoami } from '@recount/contract';
import { showsFigures } from '@recount/contract/access';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { NO_VIEW } from '../format/dimensions.ts';
import { setCurrency } from '../format/values.ts';
import { listMenuPages, mayShow, PAGES, toPageIcon } from '../pages/pages.ts';
import { ApiError, get, keepPageSecret, send } from '../server-data/client.ts';
import { queryClient } from '../server-data/use-answer.ts';
import { Icon } from '../ui/icon.tsx';
import { Failure, Loading } from '../ui/states.tsx';
import { useKeys } from '../ui/use-keys.ts';
import { usePageTitle } from '../ui/use-page-title.ts';
import { Drops } from './drops.tsx';
import { applyTheme, readTheme, THEMES, type Theme } from './theme.ts';

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }));
const DemoBanner = lazy(async () => ({ default: (await import('../parts/demo.tsx')).DemoBanner }));
const OwnSessions = lazy(async () => ({ default: (await import('./own-sessions.tsx')).OwnSessions }));
const KeyHelp = lazy(async () => ({ default: (await import('./key-help.tsx')).KeyHelp }));

type Dialog = 'palette' | 'help';

/** The frame of every page, with the menu, the signed-in user, and global keyboard shortcuts. */
export function Shell(): ReactNode {
  const { pathname } = useLocation();
  const isSignedIn = !/^\/sign-in(\/|$)/.test(pathname);
  return (
    <>
      <Drops isSignedIn={isSignedIn} />
      {isSignedIn ? (
        <SignedInShell />
      ) : (
        <main className="bare">
          <Outlet />
        </main>
      )}
    </>
  );
}

function SignedInShell(): ReactNode {
  const { pathname } = useLocation();
  const page = PAGES.find(({ path }) => path === pathname);
  usePageTitle(page?.label);
  const navigate = useNavigate();
  const { href } = useLocation();
  const whoami = useQuery({
    queryKey: ['/v1/whoami', {}, {}],
    queryFn: async ({ signal }) => {
      const answer = await get('/v1/whoami', { signal });
      setCurrency(answer.currency_label);
      return answer;
    },
    staleTime: 60_000,
  });
  const isSignedOut = whoami.error instanceof ApiError && whoami.error.status === 401;
  useEffect(() => {
    if (isSignedOut) void navigate({ to: '/sign-in', search: { ...NO_VIEW, next: href }, replace: true } as never);
  }, [isSignedOut, href, navigate]);
  const [dialog, setDialog] = useState<Dialog>();
  useKeys({ '/': () => setDialog('palette'), '?': () => setDialog('help') });
  useCommandKey(() => setDialog('palette'));

  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <Top whoami={whoami.data} open={setDialog} />
      <main id="content" tabIndex={-1}>
        {whoami.data !== undefined ? (
          <Suspense fallback={<Loading />}>
            {whoami.data.is_demo && <DemoBanner />}
            <Suspense fallback={<Loading />}>
              {page && !showsFigures(whoami.data.scopes) && !mayShow(page, whoami.data.scopes) ? (
                <OwnSessions title={page.label ?? 'Figures'} />
              ) : (
                <Outlet />
              )}
            </Suspense>
          </Suspense>
        ) : whoami.error && !isSignedOut ? (
          <Failure error={whoami.error} retry={() => void whoami.refetch()} />
        ) : (
          <Loading />
        )}
      </main>
      <Suspense>
        {dialog === 'palette' && <CommandPalette close={() => setDialog(undefined)} />}
        {dialog === 'help' && <KeyHelp close={() => setDialog(undefined)} />}
      </Suspense>
    </div>
  );
}

/** The menu, and the signed-in user. On phones it is collapsed, and collapses again after navigating. */
function Top({ whoami, open }: { whoami: Whoami | undefined; open: (dialog: Dialog) => void }): ReactNode {
  const { pathname } = useLocation();
  const [isMenuOpen, setMenuOpen] = useState(false);
  useEffect(() => setMenuOpen(false), [pathname]);
  return (
    <header className="top" data-open={isMenuOpen}>
      <div className="brand">
        <Link to="/">recount</Link>
        <button
          type="button"
          className="menu-button quiet"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
      </div>
      <div id="menu" className="menu">
        <button type="button" className="search-button" onClick={() => open('palette')}>
          Search or go to <kbd>/</kbd>
        </button>
        <nav aria-label="Pages">
          {listMenuPages(whoami?.scopes).map(({ path, label }) => (
            <Link key={path} to={path} activeOptions={{ exact: path === '/', includeSearch: false }}>
              <Icon name={toPageIcon(path)} />
              {label}
            </Link>
          ))}
        </nav>
        <div className="who">
          <p className="muted" title={whoami && `Key ${whoami.key_id}, version ${whoami.version}`}>
            {whoami?.workspace ?? '\u00a0'}
          </p>
          <ThemeChoice />
          <div className="row">
            <button type="button" className="quiet" onClick={() => open('help')}>
              Shortcuts <kbd>?</kbd>
            </button>
            <button type="button" className="quiet" onClick={() => void signOut().then((url) => location.assign(url))}>
              Sign out
            </button>
          </div>
        </div>
      </div>
    </header>
  );
}

/** Returns the page to open next, which may be one of a provider that ends the session there. */
async function signOut(): Promise<string> {
  const ended = (await send('post', '/v1/sign-out')) as { url: string } | undefined;
  keepPageSecret(undefined);
  queryClient.clear();
  return ended?.url ?? '/sign-in';
}

/** Control-K or Command-K, even while a field has the focus. */
function useCommandKey(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

function ThemeChoice(): ReactNode {
  const [theme, setTheme] = useState(readTheme);
  const choose = (next: Theme): void => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <label className="row theme">
      <span className="muted">Theme</span>
      <select value={theme} onChange={({ target }) => choose(target.value as Theme)}>
        {THEMES.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}
