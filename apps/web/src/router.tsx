import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { keepView } from './format/dimensions.ts';
import { PAGES, type Page } from './pages/pages.ts';
import { Shell } from './shell/shell.tsx';
import { Empty, Failure } from './ui/states.tsx';
import { parseSearch, stringifySearch } from './ui/use-url-state.ts';

const rootRoute = createRootRoute({
  component: Shell,
  // Each link and each command keeps the time range and filters that were chosen, unless it says some itself.
  search: { middlewares: [({ search, next }) => keepView(search, next(search)) as never] },
  errorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  notFoundComponent: () => (
    <Empty title="Page not found">
      <a href="/">Go to the overview</a>
    </Empty>
  ),
});

/** Its code is loaded when it is first opened. */
const toRoute = ({ path, load, component }: Page) =>
  createRoute({
    getParentRoute: () => rootRoute,
    path,
    component: lazyRouteComponent(load as () => Promise<Record<string, ComponentType>>, component),
  });

export const router = createRouter({
  routeTree: rootRoute.addChildren(PAGES.map(toRoute)),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
});
